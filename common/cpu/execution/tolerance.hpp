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
/// Not while a launch runs. Then the lanes of a warp go through shared memory as those of GPUs of today do
/// where none has branched off: each instruction by all of them, before the next. Where they have, those at
/// the first instruction go on. An instruction that all lanes which have not returned come to together orders
/// what they did before, for the tracer, as __syncwarp() does.
void set_lanes_in_step(bool in_step);
bool lanes_in_step();
/// Dynamic shared memory of the blocks from here on: at a multiple of what CUDA promises (16), or of what an
/// array in it declares if that is more, and of no more; else of 1024.
void set_least_aligned(bool least);
bool least_aligned();
/// By place, in the order of their first occurrence.
std::vector<Tolerated> tolerated();

}  // namespace cpu_device
