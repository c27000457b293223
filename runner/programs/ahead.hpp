// A second process that runs the second half of the cases while this one runs the first: the two take
// less time on two cores, and most launches are of one block.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "common/gemm.hpp"
#include "runner/programs/cases.hpp"

namespace gemm {

/// Only what passes is taken from it, and only all of it: whatever else comes of a case (a failure, a crash,
/// a line that the kernel prints, no answer) this process sees itself, as if there had been no other. So a
/// report is the same with it and without, unless the kernel counts its launches. On the CPU device.
class GoesAhead {
  public:
    /// Begins. To be called before anything is launched, from a process without threads of its own. Where
    /// there is one core alone, or no second process to be had, it has nothing to say later.
    GoesAhead(const Lesson& lesson, std::uint64_t seed, bool long_k);
    GoesAhead(const GoesAhead&) = delete;
    GoesAhead& operator=(const GoesAhead&) = delete;
    ~GoesAhead();

    /// What came of the second half, all of which has passed; or nothing. waiting: called now and then.
    std::vector<CaseResult> results(const std::function<void()>& waiting);

  private:
    void end();

    std::vector<CheckCase> cases_;  // of the second half
    std::uint64_t seed_;
    pid_t process_ = -1;
    int from_ = -1;  // where what it finds is read
};

}  // namespace gemm
