// The procedure that lesson programs and gemm_bench share: inputs, reference, verification, timing,
// verification.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/check/verify.hpp"
#include "common/check/workload.hpp"
#include "common/gemm.hpp"
#include "common/measure/device.hpp"
#include "common/measure/speed.hpp"

namespace gemm {

/// Whether this build's device keeps a time worth printing. The CPU device grades correctness and does not
/// time.
#ifdef GEMM_CPU_DEVICE
inline constexpr bool kDeviceTimes = false;
#else
inline constexpr bool kDeviceTimes = true;
#endif

/// True where a time means something: at least one multiply-add, and alpha = 1, beta = 0, with which all
/// times are taken (beta ≠ 0 would make every launch depend on the one before).
bool timeable(const Shape& shape);

/// Seconds that verifying may take: what 0.1 TFLOP/s need, which no kernel here falls below, the copies and
/// the host's own sums, and half a minute. The CPU device finds out itself: 0, for ever.
int patience_of(const Shape& shape);

/// What came of one lesson at one size.
struct Outcome {
    Verdict verdict;  // failure says "wrong before timing" or "wrong after timing" where it was to be timed
    FaultId fault = FaultId::other;  // which, where there is an error
    std::string error;               // why it could not be run (a launch refused, a deadlock …); else empty
    bool device_lost = false;        // the error has made the device unusable for this process
    std::optional<Speed> speed;      // none unless it was timed and right before and after
    std::string untimed;             // why cuBLAS has nothing to time it against, as a sentence; else empty

    bool passed() const { return error.empty() && verdict.passed; }
};

struct MeasureOptions {
    bool timing = false;  // where the device times and the shape is timeable
    int rounds = 0;       // as TimingOptions::rounds
    bool energy = false;  // as TimingOptions::energy
    bool brief = false;   // as SpeedOptions::brief; what DeviceCheck takes is checked by that
    int patience = 0;     // seconds that a lesson's verification may take, or one sample of its times, before
                          // the program ends (launch_watch.hpp); 0: any
    /// Told of it before the program ends, in another thread: which lesson, and the sentence. May be empty.
    std::function<void(const std::string& lesson, const std::string& said)> hangs;
    /// How many of Measurer::steps() are done, and what comes next; may be empty.
    std::function<void(int done, const std::string& next)> progress;
};

/// Measures on the current device. Keeps the cuBLAS handle from one size to the next.
class Measurer {
  public:
    /// `device` as select_device returned it.
    explicit Measurer(const Device& device) : device_(device) {}

    /// Verifies each lesson on the same inputs, and times those that are right together; each lesson's
    /// variant is the shape's. A lesson that is wrong or cannot be launched leaves the others unaffected,
    /// except when it takes the device down: then what follows it is left out and the last outcome has
    /// device_lost. The result has the order of `lessons`. Throws Error or std::bad_alloc when the size does
    /// not fit, or nothing can be said about any lesson.
    std::vector<Outcome> measure(const std::vector<const Lesson*>& lessons, const Shape& shape,
                                 std::uint64_t seed, const MeasureOptions& options);

    /// Steps of progress that measure() takes.
    static int steps(std::size_t lessons, const Shape& shape, bool timing);

  private:
    std::vector<TimedLesson> time(const std::vector<const Lesson*>& right, Workload& w, const Check& check,
                                  const MeasureOptions& options, int done);

    Device device_;
    std::shared_ptr<Baseline> baseline_;          // made when first needed; never on the CPU device
    std::shared_ptr<const DeviceInputs> inputs_;  // likewise, of brief runs
};

}  // namespace gemm
