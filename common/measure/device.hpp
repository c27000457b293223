// Which device the program runs on, and what it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/gemm.hpp"

namespace gemm {

/// A device, as results files record it.
struct Device {
    std::string kind;  // "cuda" or "cpu"
    std::string name;  // "NVIDIA H200"; "CPU device (limits of sm_90)"
    int sm = 0;        // compute capability, 10·major + minor
    int multiprocessors = 0;
    long long l2_bytes = 0;  // 0 on the CPU device
    // Empty on the CPU device:
    std::string driver;   // NVIDIA's driver, "580.65.06"; empty where NVML does not tell
    std::string runtime;  // CUDA's version, "13.0"
};

/// Makes device `ordinal` current and describes it. `like` ("sm_86") is for the CPU device only: whose launch
/// limits it enforces (empty: sm_90); so is `schedule`, the seed of what a GPU leaves open. Throws Error, in
/// one sentence, when there is no driver, no such device or no such limits.
Device select_device(int ordinal, const std::string& like, std::uint64_t schedule = 0);

/// Empty when the lesson runs on the device with its variant, else one line that says what it needs and what
/// was found.
std::string why_skipped(const Lesson& lesson, const Device& device);

/// What one block of a lesson takes, from the compiler. Registers are −1 where only ptxas knows them (CPU
/// device).
struct Resources {
    int registers = -1, local_bytes = -1, blocks_per_sm = -1;
    int threads_per_block = 0;
    std::size_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
};
Resources resources(const Lesson& lesson);

/// What the lesson says of how it divides the problem; none where it says nothing or nothing is multiplied.
std::optional<Tiling> tiling_of(const Lesson& lesson, const Problem& p);

/// Blocks of the kernel, launched like that, that an SM has at once: its occupancy. The CPU device's knows no
/// registers.
int blocks_per_sm(const void* kernel, const dim3& block, std::size_t dynamic_shared_bytes);

}  // namespace gemm
