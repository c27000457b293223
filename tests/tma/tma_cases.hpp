// Random boxes for the copy engine, and what shared or global memory must hold after them, worked out element
// by element from the definition of a tensor map: without what the CPU device does it with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/tma/tensor_map.hpp"
#include "tests/random_cases.hpp"
#include "tests/tma/tma.hpp"

namespace test {

/// What is particular about a case.
struct TmaMode {
    const char* name;
    bool store = false;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
    bool element_strides = false;
    bool nan_fill = false;
    std::vector<CUtensorMapDataType> types;
    bool behind = false;  // stores also begin behind the tensor (none may before it)
};
const std::vector<TmaMode>& tma_modes();

struct TmaRun {
    gemm::TensorMapFields fields;      // but for the address
    std::size_t address = 0;           // of the tensor, in `tensor`
    std::vector<std::uint8_t> tensor;  // global memory before
    kernels::TmaCase box;              // but for its map
    std::string text() const;
};
/// Case `index` of the mode; the same on every machine.
TmaRun draw_tma(const TmaMode& mode, std::uint64_t seed, std::uint64_t index);

/// The bytes that it shows: shared memory after each phase of a load, the tensor's memory after a store.
std::vector<std::uint8_t> tma_on_device(const TmaMode& mode, const TmaRun& run);
std::vector<std::uint8_t> tma_by_definition(const TmaMode& mode, const TmaRun& run);

/// The modes, for what runs cases.
std::vector<RandomMode> tma_random();

/// Tensor maps that the driver refuses, and some at the border that it takes.
struct TmaRefusal {
    const char* name;
    bool refused;
    gemm::TensorMapFields fields;
};
std::vector<TmaRefusal> tma_refusals();

}  // namespace test
