// What is done to matrices of gigabytes where they lie: they are filled and looked at by the device, and the
// host holds none of them. FP32, BF16 and FP16. All of it goes through the default stream. Throws CudaError.
#pragma once

#include <cstdint>
#include <vector>

#include "common/check/buffer.hpp"
#include "common/check/judgement.hpp"
#include "common/gemm.hpp"

namespace gemm {

/// Whether these functions know a type.
bool known_on_device(DType dtype);

/// Fills matrices with normal deviates: those that the host draws from the same seed, bit by bit.
class DeviceInputs {
  public:
    /// Makes the tables of radius_of() and turn_of(), on all cores, and uploads them: 192 MiB.
    DeviceInputs();
    /// data: `count` elements without padding. seed: as normal_at() has it.
    void draw(DType dtype, void* data, std::int64_t count, std::uint64_t seed) const;

  private:
    Buffer radius_, cosine_, sine_;
};

/// Gives each of `count` elements these bits.
void fill_on_device(DType dtype, void* data, std::int64_t count, std::uint32_t bits);

/// to = |from|, of `count` elements.
void absolute_on_device(DType dtype, const void* from, void* to, std::int64_t count);

/// How a result on the device is held against a whole one.
struct WholeOnDevice {
    const float* value;      // as in WholeMatrix, on the device
    const float* magnitude;  // likewise
    PlainBounds bounds;
    WholeBounds widened;
    double most;              // as acceptable() has it
    std::uint32_t unwritten;  // bits of an element that nobody wrote
};
/// Whether one of `count` elements is not as it should be, or was never written.
bool strays_on_device(DType dtype, const void* c, std::int64_t count, const WholeOnDevice& whole);

/// The elements rows × cols of a matrix on the device, row-major.
Elements gather_from_device(DType dtype, const void* data, std::int64_t pitch,
                            const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& cols);

}  // namespace gemm
