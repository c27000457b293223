#include "common/check/device_check.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "common/check/parallel.hpp"
#include "common/check/random.hpp"
#include "common/check/variant.hpp"
#include "common/check/words.hpp"

namespace gemm {
namespace {

// Multiply-adds, and elements of all matrices, up to which a host is fast enough.
constexpr double kSmallWork = 0x1p25, kSmallElements = 0x1p22;
// Rows and columns that are held against float64, where there are so many; where there are few, the others
// are more, up to so many elements that a mean over them says something.
constexpr std::int64_t kSide = 32, kSampled = 320;

/// Rows, or columns, in order: all, or `most` of them, the last one always (edges are where kernels go
/// wrong).
std::vector<std::int64_t> some(std::int64_t count, std::int64_t most, std::uint64_t seed) {
    const auto wanted = static_cast<std::size_t>(std::min(count, most));
    std::set<std::int64_t> indices{count - 1};
    for (std::uint64_t i = 0; indices.size() < wanted; ++i) {
        indices.insert(static_cast<std::int64_t>((count <= most ? i : mix(seed + i)) %
                                                 static_cast<std::uint64_t>(count)));
    }
    return {indices.begin(), indices.end()};
}

/// Rows of A and columns of B, as the device has drawn them, as a problem of their own.
HostProblem sample_of(const Workload& w, const std::vector<std::int64_t>& rows,
                      const std::vector<std::int64_t>& cols) {
    const Shape& whole = w.shape();
    Shape s;
    s.M = static_cast<std::int64_t>(rows.size());
    s.N = static_cast<std::int64_t>(cols.size());
    s.K = whole.K;
    s.alpha = whole.alpha;
    s.variant = whole.variant;
    s = s.resolved();
    HostMatrices host;
    const auto gather = [&](OperandId id, std::int64_t count, const auto& from, const auto& to) {
        const DType type = id == OperandId::A ? s.variant.A : s.variant.B;
        Elements& all = host[id] = Elements(type, static_cast<std::size_t>(count * s.K));
        const std::uint64_t seed = w.draws(id);
        parallel_for(s.K, ceil_div(1 << 14, count), [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t k = first; k < last; ++k) {
                for (std::int64_t i = 0; i < count; ++i)
                    all.set_bits(to(i, k),
                                 encode(type, normal_at(seed, static_cast<std::int64_t>(from(i, k)))));
            }
        });
    };
    gather(
        OperandId::A, s.M,
        [&](std::int64_t i, std::int64_t k) { return whole.a_at(rows[static_cast<std::size_t>(i)], k); },
        [&](std::int64_t i, std::int64_t k) { return s.a_at(i, k); });
    gather(
        OperandId::B, s.N,
        [&](std::int64_t i, std::int64_t k) { return whole.b_at(k, cols[static_cast<std::size_t>(i)]); },
        [&](std::int64_t i, std::int64_t k) { return s.b_at(k, i); });
    return {s, w.seed(), std::make_shared<const HostMatrices>(std::move(host))};
}

std::vector<std::int64_t> every(std::int64_t count) {
    return some(count, count, 0);
}

}  // namespace

bool DeviceCheck::takes(const Shape& s) {
    if (s.M == 0 || s.N == 0 || s.K == 0 || s.alpha != 1.0f || s.beta != 0.0f) return false;
    if (!s.variant.plain() || s.variant.batch != Batch::one || s.stored != Stored::whole) return false;
    const std::vector<Operand> matrices = operands(s.problem());
    const bool dense = std::all_of(matrices.begin(), matrices.end(), [&](const Operand& o) {
        return o.pitch == o.cols && s.offsets[place_of(o.id)] == 0 && known_on_device(o.type);
    });
    const double elements =
        std::accumulate(matrices.begin(), matrices.end(), 0.0,
                        [](double sum, const Operand& o) { return sum + static_cast<double>(o.size()); });
    return dense && (flop_of(s.problem()) / 2.0 > kSmallWork || elements > kSmallElements);
}

DeviceCheck::DeviceCheck(Workload& w, DeviceWhole whole)
    : w_(w),
      whole_(std::move(whole)),
      rows_(some(w.shape().M, std::max(kSide, kSampled / w.shape().N), w.seed())),
      cols_(some(w.shape().N, std::max(kSide, kSampled / w.shape().M), mix(w.seed()))),
      sample_(sample_of(w, rows_, cols_)),
      reference_(reference(sample_, every(sample_.shape().M), every(sample_.shape().N))) {}

Verdict DeviceCheck::operator()(const Workload& left, const Lesson* lesson) const {
    const Shape& s = w_.shape();
    const DType type = s.variant.result();
    const void* const c = left.problem().C;
    const WholeOnDevice whole{.value = static_cast<const float*>(whole_.value.data()),
                              .magnitude = static_cast<const float*>(whole_.magnitude.data()),
                              .bounds = ErrorBounds(s).plain(),
                              .widened = whole_bounds(s),
                              .most = infinite_from(type),
                              .unwritten = bits_of(Fill::poison, type)};
    const bool strays = strays_on_device(type, c, s.M * s.N, whole);
    Verdict v = sample_verdict(reference_, sample_.shape(), gather_from_device(type, c, s.ldc, rows_, cols_));
    v.compared = s.M * s.N;
    if (v.passed && !strays) return v;

    const std::string name = lesson != nullptr ? lesson->name : "The result";
    try {
        w_.bring_to_host();
        const WholeMatrix on_host{floats(whole_.value.download()), floats(whole_.magnitude.download())};
        Verdict told = Verifier(w_, &on_host).check(left.download_c(), lesson);
        if (!told.passed) return told;
        if (v.passed) return v;  // a bound was missed by no more than a device's double differs
    } catch (const TooLarge& error) {
        if (v.passed) {
            v.passed = false;
            v.what = FailureId::elements;
            v.failure = name + " is wrong at " + s.text() + " (seed " + std::to_string(w_.seed()) +
                        "), and nobody can say where: " + error.what();
            return v;
        }
    }
    if (v.first) {
        v.first->row = rows_[static_cast<std::size_t>(v.first->row)];
        v.first->column = cols_[static_cast<std::size_t>(v.first->column)];
    }
    v.failure = failure_text(v, name, s, w_.seed());
    return v;
}

}  // namespace gemm
