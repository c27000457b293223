// What CUDA's manuals leave undefined and GPUs of today let pass. It ends a launch, unless that is told to
// tolerate it: then it is remembered, and the launch goes on as on a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/facts.hpp"

namespace cpu_device {

struct Tolerated {
    gemm::FaultId id;
    std::string text;         // a sentence about the first occurrence
    std::uint64_t count = 1;  // how often, at the same place
};

/// From launches on; false unless told. Forgets what was tolerated.
void set_tolerant(bool tolerant);
/// Then the copy engine and the tensor cores also see what no proxy fence has made visible to them; that a
/// fence is missing is the tracer's to say.
bool tolerant();
/// False: nothing is tolerated. place: what makes two occurrences the same.
bool tolerates(gemm::FaultId id, const std::string& place, const std::string& text);
/// By place, in the order of their first occurrence.
std::vector<Tolerated> tolerated();

}  // namespace cpu_device
