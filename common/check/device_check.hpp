// Holds a large result against the whole product and a sample in float64 without bringing its matrices to the
// host: for many sizes in little time.
#pragma once

#include <cstdint>
#include <vector>

#include "common/check/buffer.hpp"
#include "common/check/on_device.hpp"
#include "common/check/reference.hpp"
#include "common/check/verify.hpp"
#include "common/check/workload.hpp"

namespace gemm {

/// A WholeMatrix on the device: M·N numbers of FP32 each.
struct DeviceWhole {
    Buffer value, magnitude;
};

/// Every element of C is held against `whole`, by the bounds that Verifier has there, and must have been
/// written. Against float64, about 32 rows × 32 columns drawn by the workload's seed, the last ones among
/// them, where Verifier has four whole rows and four whole columns. What does not pass is then brought to
/// the host and held against the same by Verifier, which says what is wrong.
class DeviceCheck {
  public:
    /// Whether it is worth while, and can be done.
    static bool takes(const Shape& shape);
    /// Computes the reference. The workload lies on the device, and must outlive this.
    DeviceCheck(Workload& w, DeviceWhole whole);
    /// The C of `left`, which is the workload or a duplicate of it, full of poison before.
    Verdict operator()(const Workload& left, const Lesson* lesson) const;

  private:
    Workload& w_;
    DeviceWhole whole_;
    std::vector<std::int64_t> rows_, cols_;
    HostProblem sample_;  // of those rows and columns alone
    Reference reference_;
};

}  // namespace gemm
