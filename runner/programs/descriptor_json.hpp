// A matrix descriptor of wgmma and a tensor map as JSON: every field by the name that NVIDIA's manuals give
// it, and which 16 bytes of shared memory the hardware reads or writes. What the fields mean is
// common/ptx/wgmma_descriptor.hpp's and cpu/ptx/tensor_map.hpp's. On the CPU device alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/cpu/ptx/tensor_map.hpp"
#include "common/program/report.hpp"
#include "common/ptx/wgmma_descriptor.hpp"
#include "common/tma/tensor_map.hpp"

namespace gemm {

/// A tile of 2-byte elements as TMA has brought it: `rows` along M or N, `columns` along K, in boxes that are
/// as wide as the swizzle mode spans (8 elements without one), one behind the other from `at` on. The
/// descriptor is meant to begin at its element (row, k).
struct IntendedTile {
    unsigned rows = 0, columns = 0, row = 0, k = 0;
    ptx::WgmmaSwizzle swizzle = ptx::WgmmaSwizzle::none;
    std::optional<unsigned> at;  // where that is not known: where the descriptor would be right
};

/// "0x4000", with zeros in front up to so many digits.
std::string hex(std::uint64_t number, int digits = 0);

/// "none", "32B", "64B", "128B".
const char* name_of(CUtensorMapSwizzle swizzle);
/// The mode of 0, 32, 64 or 128 bytes. Throws Error for others; `option` is for the message.
ptx::WgmmaSwizzle swizzle_of(const std::string& option, const std::string& bytes);
CUtensorMapSwizzle of_map(ptx::WgmmaSwizzle swizzle);
/// "float32" or "fp32". Throws Error for what is none.
CUtensorMapDataType data_type(const std::string& option, const std::string& name);

/// kind, number, fields (name, bits, encoded, value, unit), rows, depth, major, chunks (row, k, address; with
/// a tile also holds, the element that lies there, or null, and wrong), tile, wrong, notes (id, text). Throws
/// Error where the tile cannot be brought.
Json descriptor_json(std::uint64_t number, ptx::Major major, unsigned rows,
                     const std::optional<IntendedTile>& tile);

/// The fields by the names of cuTensorMapEncodeTiled()'s arguments, without the address.
Json tensor_map_json(const cpu_device::TensorMap& map);
/// The same as "fields", kind, box_bytes, shared_bytes, row_bytes, chunks (row: of the box, column: of it,
/// in elements, address: from the box's start).
Json box_json(const cpu_device::TensorMap& map);

}  // namespace gemm
