// The options of a program that say how many problems there are, and of which sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/check/workload.hpp"
#include "common/program/options.hpp"

namespace gemm {

/// --batch, of every batch, and --groups, of a grouped one: "100x77x51,0x77x51,1x1x1", M×N×K of each problem.
class BatchOptions {
  public:
    std::vector<Option> options();
    /// The shape, whose variant is known, with as many problems as they say, or as are usual; resolved.
    /// `usual`: M, N and K where they were not given. Throws Error, in one sentence.
    Shape of(Shape shape, const Shape& usual) const;

  private:
    std::int64_t batch_ = -1;
    std::string groups_;
};

}  // namespace gemm
