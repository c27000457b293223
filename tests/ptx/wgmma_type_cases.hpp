// Random multiplications for wgmma of TF32, FP8, 8-bit integers, and with sums of FP16, and what their sums
// must be, as wgmma_cases.hpp has them for BF16 and FP16.
//
// Inputs are small whole numbers; or every number that the type has, one product to a sum; of integers all
// there are. So every sum is exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/ptx/wgmma_cases.hpp"
#include "tests/ptx/wgmma_types.hpp"

namespace test {

struct WgmmaTypeMode {
    WgmmaMode layout;  // with its name
    gemm::ptx::WgmmaInput type_a, type_b;
    kernels::WgmmaSum sum;
    bool low_bits;  // TF32: also the 13 bits that it does not read are set
};
/// (A mode of integers has both: half of its cases saturate.)
const std::vector<WgmmaTypeMode>& wgmma_type_modes();

struct WgmmaTypeRun {
    kernels::WgmmaTypeCase multiplication;
    std::vector<std::uint32_t> shared, registers, before;  // as kernels::wgmma_types() takes them
    std::string text() const;
};
WgmmaTypeRun draw_wgmma_types(const WgmmaTypeMode& mode, std::uint64_t seed, std::uint64_t index);

/// The sums, thread by thread; no zero is negative.
std::vector<double> wgmma_types_on_device(const WgmmaTypeRun& run);
std::vector<double> wgmma_types_by_definition(const WgmmaTypeRun& run);

}  // namespace test
