#include "common/check/workload.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <random>

#include "common/check/on_device.hpp"
#include "common/check/parallel.hpp"
#include "common/check/random.hpp"
#include "common/check/variant.hpp"
#include "common/host_memory.hpp"

namespace gemm {
namespace {

constexpr std::int64_t kMostElements = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostGroups = std::int64_t{1} << 20;
constexpr std::size_t kMostGroupsNamed = 8;  // in text()

std::int64_t elements(std::int64_t rows, std::int64_t pitch) {
    std::int64_t count = 0, bytes = 0;
    // A quarter of the range is left for the sums of three matrices and their guards.
    if (__builtin_mul_overflow(rows, pitch, &count) ||
        __builtin_mul_overflow(count, std::int64_t{64}, &bytes)) {
        throw Error("A matrix of " + std::to_string(rows) + " rows with pitch " + std::to_string(pitch) +
                    " is far larger than any memory.");
    }
    return count;
}

/// Whether a type's inputs are uniform over its range: of integers, and of powers of two.
bool uniform(DType dtype) {
    return is_integer(dtype) || dtype == DType::e8m0;
}

/// A uniform input from a counter.
double uniform_input(DType dtype, std::uint64_t seed, std::uint64_t counter) {
    const auto [lowest, highest] = inputs(dtype);
    const double at = static_cast<double>(mix(seed ^ mix(counter)) >> 11) * 0x1p-53;  // [0, 1)
    if (dtype != DType::e8m0) return std::floor(lowest + at * (highest - lowest + 1.0));
    return std::exp2(std::log2(lowest) + std::floor(at * (std::log2(highest / lowest) + 1.0)));
}

/// rows×cols inputs at the given pitch, everything else `filler`.
Elements random_matrix(DType dtype, std::int64_t rows, std::int64_t cols, std::int64_t pitch,
                       std::uint64_t seed, std::uint32_t filler) {
    Elements m(dtype, static_cast<std::size_t>(rows * pitch));
    const auto put = [&](std::int64_t i, float x) {
        m.set_bits(static_cast<std::size_t>(i), encode(dtype, x));
    };
    const bool by_range = uniform(dtype);
    // Two elements that share a byte are one thread's.
    const std::int64_t grain = info(dtype).bits < 8 ? rows * pitch + 1 : 1 << 14;
    parallel_for(rows * pitch, grain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
            const std::int64_t col = i % pitch;
            if (col >= cols) {
                m.set_bits(static_cast<std::size_t>(i), filler);
            } else if (by_range) {
                put(i, static_cast<float>(uniform_input(dtype, seed, static_cast<std::uint64_t>(i))));
            } else {
                const auto [even, odd] = normal_pair(seed, static_cast<std::uint64_t>(i / 2));
                put(i, i % 2 == 0 ? even : odd);
                if (i % 2 == 0 && i + 1 < last && col + 1 < cols) put(++i, odd);
            }
        }
    });
    return m;
}

std::string gigabytes(double bytes) {
    char text[32];
    std::snprintf(text, sizeof text, bytes < 1e9 ? "%.3f GB" : "%.1f GB", bytes / 1e9);
    return text;
}

std::string number(float value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", static_cast<double>(value));
    return text;
}

/// What one takes on the host: as it is; one that is read as FP32, too, for the reference; one that is
/// written once more, as it comes back, and what both are held against.
double host_bytes(const Operand& o, std::int64_t elements) {
    const double own = static_cast<double>(info(o.type).bits) / 8.0;
    return (o.role == Role::in ? own + 4.0 : 2.0 * (own + 10.0)) * static_cast<double>(elements);
}

constexpr double kProblemBytes =
    2048;  // on the host, of each problem beside its elements: more than it takes

/// Refuses what does not fit, before anything is allocated. device, host: bytes of each that it takes.
void require_fitting(const Shape& s, double device, double host) {
    const auto fits = [&](double need, std::size_t free, const char* whose) {
        if (need <= static_cast<double>(free)) return;
        throw TooLarge("A problem of " + s.text() + " needs " + gigabytes(need) + " of " + whose +
                       "memory, and " + gigabytes(static_cast<double>(free)) + " are free.");
    };
#ifdef GEMM_CPU_DEVICE
    fits(device + host, available_host_memory(), "");
#else
    std::size_t free = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    fits(device, free, "device ");
    fits(host, available_host_memory(), "host ");
#endif
}

double device_bytes_of(const Shape& s) {
    double device = 0;
    for (const Operand& o : operands(s.problem())) {
        device += static_cast<double>(
            Buffer::bytes(static_cast<std::size_t>(s.extent(o)), static_cast<std::size_t>(o.pitch), o.type));
    }
    return device;
}

double host_bytes_of(const Shape& s) {
    double host = kProblemBytes * static_cast<double>(s.batch);
    for (const Operand& o : operands(s.problem()))  // of a batch they lie there apart, and together
        host += host_bytes(o, s.extent(o)) * (s.variant.batch == Batch::one ? 1.0 : 2.0);
    return host;
}

/// "1000×77×513".
template <class Sizes>
std::string sizes_text(const Sizes& s) {
    return std::to_string(s.M) + "×" + std::to_string(s.N) + "×" + std::to_string(s.K);
}

/// The problem of that number in a grouped batch of which nobody says more than M, N and K.
Group usual_group(const Shape& s, std::int64_t number) {
    switch (number % 4) {
        case 0:
            return {.M = s.M, .N = s.N, .K = s.K};
        case 1:
            return {.M = ceil_div(s.M, 2), .N = ceil_div(s.N, 2), .K = ceil_div(s.K, 2)};
        case 2:
            return {.M = 0, .N = s.N, .K = s.K};
        default:
            return {.M = std::min<std::int64_t>(s.M, 1),
                    .N = std::min<std::int64_t>(s.N, 1),
                    .K = std::min<std::int64_t>(s.K, 1)};
    }
}

/// The sizes of all groups, where they are not given, and the largest of them as the shape's.
void size_groups(Shape& s) {
    if (s.groups.empty()) {
        if (s.batch > kMostGroups)
            throw Error("A grouped batch has at most " + std::to_string(kMostGroups) + " problems, and not " +
                        std::to_string(s.batch) + ".");
        for (std::int64_t i = 0; i < s.batch; ++i) s.groups.push_back(usual_group(s, i));
        return;
    }
    if (s.stored != Stored::whole && s.groups.size() > 1)
        throw Error("Of several groups, matrices are stored in whole.");
    s.batch = static_cast<std::int64_t>(s.groups.size());
    for (std::int64_t Group::*size : {&Group::M, &Group::N, &Group::K}) {
        std::int64_t& largest = size == &Group::M ? s.M : size == &Group::N ? s.N : s.K;
        largest = 0;
        for (const Group& g : s.groups) {
            if (g.*size < 0)
                throw Error("Sizes of a group must not be negative, as in " + sizes_text(g) + ".");
            largest = std::max(largest, g.*size);
        }
    }
}

/// The pitches of all groups, where they are not given, and the largest of them as the shape's. `asked`: with
/// those that are for all.
void pitch_groups(Shape& s, Shape asked) {
    const std::vector<Problem> problems = members(s.problem());
    for (std::size_t i = 0; i < problems.size(); ++i) {
        for (const Operand& o : operands(problems[i])) {
            std::int64_t& pitch = *pitch_in(s.groups[i], o.id);
            const std::int64_t for_all = *pitch_in(asked, o.id);
            const std::int64_t tight = in_whole_bytes(o.type, std::max<std::int64_t>(o.cols, 1));
            if (pitch == 0) pitch = for_all != 0 ? for_all : tight;
            if (pitch < o.cols) {
                throw Error(std::string(o.pitch_name) + " of group " + std::to_string(i) +
                            " must be at least " + o.width + " = " + std::to_string(o.cols) + ", and is " +
                            std::to_string(pitch) + ".");
            }
            std::int64_t& largest = *pitch_in(s, o.id);
            largest = std::max(largest, pitch);
        }
    }
}

}  // namespace

Shape Shape::resolved() const {
    Shape s = *this;
    const auto dimension = [](const char* name, std::int64_t value) {
        if (value < 0)
            throw Error(std::string(name) + " must not be negative, and is " + std::to_string(value) + ".");
    };
    dimension("M", M);
    dimension("N", N);
    dimension("K", K);
    dimension("The number of problems", batch);
    if (variant.batch == Batch::grouped) {
        size_groups(s);
    } else if (!groups.empty()) {
        throw Error("Groups are of a grouped batch, which " + gemm::text(variant) + " is not.");
    }
    for (const Operand& o : operands(s.problem())) {
        std::int64_t* const pitch = pitch_in(s, o.id);
        if (pitch == nullptr) continue;
        if (*pitch == 0) *pitch = gemm::in_whole_bytes(o.type, std::max<std::int64_t>(o.cols, 1));
        if (*pitch < o.cols || *pitch < 1) {
            throw Error(std::string(o.pitch_name) + " must be at least " + o.width + " = " +
                        std::to_string(o.cols) + ", and is " + std::to_string(*pitch) + ".");
        }
    }
    if (variant.batch == Batch::grouped) pitch_groups(s, *this);
    for (const Operand& o : operands(s.problem())) {
        if (o.pitch == gemm::in_whole_bytes(o.type, o.pitch)) continue;
        throw Error(std::string(o.pitch_name) + " must be even where elements are " + info(o.type).text +
                    ", and is " + std::to_string(o.pitch) + ".");
    }
    if (variant.group == 0 && lds != 0)
        throw Error("lds is the pitch of scales, which " + gemm::text(variant) + " does not have.");
    if (!variant.residual && ldr != 0)
        throw Error("ldr is the pitch of a residual, which " + gemm::text(variant) + " does not have.");
    if (!variant.D && ldd != 0)
        throw Error("ldd is the pitch of a D, which " + gemm::text(variant) + " does not have.");
    const auto scalar = [&](const char* name, float value) {
        if (!is_integer(variant.C) || (std::trunc(value) == value && std::fabs(value) < 0x1p24f)) return;
        throw Error(std::string(name) + " must be a whole number where C is " + info(variant.C).text +
                    ", and is " + number(value) + ".");
    };
    scalar("alpha", alpha);
    scalar("beta", beta);
    for (const Operand& o : operands(s.problem())) {
        const std::int64_t size = elements(o.rows, o.pitch);
        if (size > kMostElements / 64)
            throw Error("A matrix of " + text() + " is far larger than any memory.");
        (void)elements(std::max<std::int64_t>(s.batch, 1), size);
        if (o.stride_name == nullptr) continue;
        std::int64_t& stride = *stride_in(s, o.id);
        if (stride == 0) stride = gemm::in_whole_bytes(o.type, size);
        if (stride < size) {
            throw Error(std::string(o.stride_name) + " must be at least " + std::to_string(o.rows) +
                        " rows of pitch " + std::to_string(o.pitch) + ", " + std::to_string(size) +
                        " elements, and is " + std::to_string(stride) + ".");
        }
        if (stride != gemm::in_whole_bytes(o.type, stride)) {
            throw Error(std::string(o.stride_name) + " must be even where elements are " + info(o.type).text +
                        ", and is " + std::to_string(stride) + ".");
        }
        (void)elements(std::max<std::int64_t>(batch, 1), stride);
    }
    if (variant.batch == Batch::one && batch != 1)
        throw Error("There is one problem in " + gemm::text(variant) + ", and not " + std::to_string(batch) +
                    ".");
    for (const OperandId id : {OperandId::A, OperandId::B, OperandId::C, OperandId::D}) {
        const bool strided = variant.batch == Batch::strided;
        if ((strided && (id != OperandId::D || variant.D)) || *stride_in(s, id) == 0) continue;
        const std::string what = strided ? "a D" : "a strided batch";
        throw Error("A stride is one of " + what + ", which " + gemm::text(variant) + " does not have.");
    }
    return s;
}

std::vector<Shape> Shape::members() const {
    if (variant.batch == Batch::one) return {*this};
    std::vector<Shape> found;
    for (const Problem& one : gemm::members(problem())) {
        Shape& s = found.emplace_back(*this);
        s.groups.clear();
        s.variant = one.variant;
        s.M = one.M, s.N = one.N, s.K = one.K;
        s.batch = one.batch;
        for (const Operand& o : operands(one)) {
            if (std::int64_t* const pitch = pitch_in(s, o.id)) *pitch = o.pitch;
            if (std::int64_t* const stride = stride_in(s, o.id)) *stride = 0;
        }
    }
    return found;
}

std::int64_t Shape::extent(const Operand& of) const {
    if (variant.batch == Batch::grouped) return begins(of).back();
    return batch == 0 ? 0 : (batch - 1) * of.stride + elements(of.rows, of.pitch);
}

std::string Shape::text() const {
    std::string t = groups.empty() ? sizes_text(*this) : sizes_text(groups.front());
    for (std::size_t i = 1; i < std::min(groups.size(), kMostGroupsNamed); ++i)
        t += ", " + sizes_text(groups[i]);
    if (groups.size() > kMostGroupsNamed) t += " … (" + std::to_string(groups.size()) + " groups)";
    const std::vector<Operand> all = operands(problem());
    for (const Operand& o : all) {
        const std::int64_t tight = gemm::in_whole_bytes(o.type, std::max<std::int64_t>(o.cols, 1));
        if (o.pitch_name != nullptr && o.pitch != 0 && o.pitch != tight)
            t += std::string(" ") + o.pitch_name + "=" + std::to_string(o.pitch);
    }
    if (variant.batch != Batch::one && groups.empty()) t += " batch=" + std::to_string(batch);
    for (const Operand& o : all) {
        if (o.stride != 0 && o.stride != gemm::in_whole_bytes(o.type, o.size()))
            t += std::string(" ") + o.stride_name + "=" + std::to_string(o.stride);
    }
    if (alpha != 1.0f) t += " alpha=" + number(alpha);
    if (beta != 0.0f) t += " beta=" + number(beta);
    for (const Operand& o : all) {
        const std::int64_t offset = offsets[place_of(o.id)];
        if (offset != 0) t += std::string(" ") + o.name + "+" + std::to_string(offset);
    }
    if (variant != Variant{}) t += " " + gemm::text(variant);
    return t;
}

std::uint32_t bits_of(Fill fill, DType dtype) {
    return fill == Fill::poison ? info(dtype).poison : info(dtype).guard;
}

std::span<const Fill> fills(DType dtype) {
    static constexpr std::array kFills{Fill::poison, Fill::guard};
    return std::span(kFills).first(poison_tells(dtype) ? 1 : 2);
}

std::uint64_t fresh_seed() {
    std::random_device device;
    return device() % 1000000000u;  // short enough to be typed again
}

Shape Shape::in_whole_bytes() const {
    Shape s = *this;
    for (const Operand& o : operands(problem())) {
        if (std::int64_t* const pitch = pitch_in(s, o.id)) *pitch = gemm::in_whole_bytes(o.type, *pitch);
        if (o.stride_name != nullptr) *stride_in(s, o.id) = gemm::in_whole_bytes(o.type, o.stride);
        std::int64_t& offset = s.offsets[place_of(o.id)];
        offset = gemm::in_whole_bytes(o.type, offset);
    }
    return s;
}

Shape Shape::kept() const {
    Shape k = *this;
    if (stored != Stored::whole) k.groups.clear();  // of one, which then has the sizes and pitches below
    k.stored = Stored::whole;
    if (stored == Stored::in_rows) k.M = 3 * window;
    if (stored == Stored::in_columns) k.N = 3 * window;
    for (const Operand& o : operands(k.problem())) {
        std::int64_t* const pitch = pitch_in(k, o.id);
        if (pitch == nullptr) continue;
        // A column of padding shows what is written right behind a row.
        if (stored == Stored::rows) *pitch = o.cols + 1;
        if (stored == Stored::in_rows || stored == Stored::in_columns)
            *pitch = std::max<std::int64_t>(o.cols, 1);
        if (stored == Stored::problems) *stride_in(k, o.id) = o.size();
    }
    return k.in_whole_bytes().resolved();
}

namespace {

/// Where a matrix's elements lie, of which `kept` are stored: the one of that place among the operands.
Placement placement(const Shape& asked, const Shape& kept, std::size_t at) {
    const Operand all = operands(asked.problem())[at];
    Placement place{static_cast<std::size_t>(asked.offsets[place_of(all.id)]), 1, 0};
    const std::int64_t step = asked.stored == Stored::in_rows      ? all.along_m
                              : asked.stored == Stored::in_columns ? all.along_n
                                                                   : 0;
    if (asked.stored == Stored::problems) {
        place.rows = static_cast<std::size_t>(asked.batch);
        place.gap = static_cast<std::size_t>(all.stride - operands(kept.problem())[at].stride);
    } else if (asked.stored == Stored::rows) {
        place.rows = static_cast<std::size_t>(all.rows);
        place.gap = static_cast<std::size_t>(all.pitch - operands(kept.problem())[at].pitch);
    } else if (step != 0) {
        place.rows = 3;
        place.gap = static_cast<std::size_t>((asked.apart - asked.window) * step);
    }
    return place;
}

/// What lies in a matrix's padding, and in all of it where it holds nothing.
std::uint32_t filler_of(const Operand& o) {
    return o.role == Role::in ? info(o.type).guard : info(o.type).poison;
}

/// What the numbers of a matrix are drawn from, the i-th of a problem's.
std::uint64_t draws_of(std::uint64_t seed, OperandId id, std::size_t i) {
    return id <= OperandId::C ? mix(3 * seed + i) : mix(mix(3 * seed) + i);
}

/// The matrices of one problem.
HostMatrices random_matrices(const Shape& s, std::uint64_t seed) {
    HostMatrices host;
    const std::vector<Operand> all = operands(s.problem());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Operand& o = all[i];
        const bool nothing = o.role == Role::out || (o.id == OperandId::C && s.beta == 0.0f);
        host[o.id] =
            nothing ? Elements(o.type, static_cast<std::size_t>(o.size()), filler_of(o))
                    : random_matrix(o.type, o.rows, o.cols, o.pitch, draws_of(seed, o.id, i), filler_of(o));
    }
    return host;
}

/// Those of a batch, one behind the other.
HostMatrices together(const Shape& s, const std::vector<HostProblem>& problems) {
    HostMatrices host;
    for (const Operand& o : operands(s.problem())) {
        const std::vector<std::int64_t> begins = s.begins(o);
        host[o.id] = Elements(o.type, static_cast<std::size_t>(begins.back()), filler_of(o));
        for (std::size_t i = 0; i < problems.size(); ++i)
            host[o.id].put(static_cast<std::size_t>(begins[i]), problems[i].host()[o.id]);
    }
    return host;
}

/// Calls body(i) for each element of what is written that lies in no problem's result.
template <class Body>
void each_padding(const Shape& s, const Body& body) {
    const std::vector<std::int64_t> begins = s.begins(result_of(operands(s.problem())));
    const std::vector<Shape> problems = s.members();
    for (std::size_t i = 0; i < problems.size(); ++i) {
        const Shape& one = problems[i];
        std::int64_t at = begins[i];
        for (std::int64_t row = 0; row < one.M; ++row, at += one.result_pitch()) {
            for (std::int64_t col = one.N; col < one.result_pitch(); ++col) body(at + col);
        }
        for (; at < begins[i + 1]; ++at) body(at);
    }
}

}  // namespace

Workload::Workload(const Shape& shape, std::uint64_t seed, const Edit& edit)
    : HostProblem({}, seed, nullptr), asked_(shape.resolved()) {
    shape_ = asked_.kept();
    require_fitting(shape_, device_bytes_of(shape_), host_bytes_of(shape_));
    allocate();
    fill(edit);
}

Workload::Workload(const Shape& shape, std::uint64_t seed, const DeviceInputs& inputs)
    : HostProblem({}, seed, nullptr), asked_(shape.resolved()), on_device_(true) {
    shape_ = asked_.kept();
    const std::vector<Operand> all = operands(shape_.problem());
    double whole = 0;  // |A| and |B|, and a DeviceWhole
    for (const Operand& o : all)
        whole += o.role == Role::in
                     ? static_cast<double>(bytes_of(o.type, static_cast<std::size_t>(o.size())))
                     : 8.0 * static_cast<double>(o.size());
    require_fitting(shape_, device_bytes_of(shape_) + whole, kProblemBytes);
    allocate();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].role == Role::in)
            inputs.draw(all[i].type, buffers_[i].data(), all[i].size(), draws(all[i].id));
    }
    reset_c();
}

std::uint64_t Workload::draws(OperandId id) const {
    return draws_of(seed_, id, place_of(id));
}

void Workload::allocate() {
    for (const Operand& o : operands(shape_.problem())) {
        if (o.role != Role::in) result_ = buffers_.size();
        buffers_.emplace_back(static_cast<std::size_t>(shape_.begins(o).back()),
                              static_cast<std::size_t>(o.pitch), o.type,
                              placement(asked_, shape_, buffers_.size()));
    }
}

void Workload::bring_to_host() {
    if (host_ != nullptr) return;
    require_fitting(shape_, 0.0, host_bytes_of(shape_));
    host_ = std::make_shared<const HostMatrices>(random_matrices(shape_, seed_));
    members_.emplace_back(shape_, seed_, host_);
}

void Workload::fill(const Edit& edit) {
    on_device_ = false;
    members_.clear();
    for (const Shape& one : shape_.members()) {
        const std::uint64_t seed = members_.empty() ? seed_ : mix(seed_ + members_.size());
        HostMatrices host = random_matrices(one, seed);
        if (edit) edit(host, one);
        members_.emplace_back(one, seed_, std::make_shared<const HostMatrices>(std::move(host)));
    }
    host_ = shape_.variant.batch == Batch::one
                ? members_.front().shared()
                : std::make_shared<const HostMatrices>(together(shape_, members_));
    const std::vector<Operand> all = operands(shape_.problem());
    for (std::size_t i = 0; i < all.size(); ++i) buffers_[i].upload((*host_)[all[i].id]);
}

Workload::Workload(const Workload& other)
    : HostProblem(other),
      asked_(other.asked_),
      members_(other.members_),
      result_(other.result_),
      on_device_(other.on_device_) {
    for (const Buffer& buffer : other.buffers_) buffers_.push_back(buffer.duplicate());
}

Workload Workload::duplicate() const {
    return Workload(*this);
}

std::size_t Workload::device_bytes() const {
    std::size_t bytes = 0;
    for (const Buffer& buffer : buffers_) bytes += buffer.bytes_with_bands();
    return bytes;
}

Problem Workload::problem() const {
    std::vector<void*> data;
    for (const Buffer& buffer : buffers_) data.push_back(buffer.data());
    return over(asked_.problem(), data);
}

std::vector<Image> Workload::images() const {
    std::vector<Image> images;
    for (const Buffer& buffer : buffers_) images.push_back(buffer.image());
    return images;
}

void Workload::refill(std::uint64_t seed) {
    seed_ = seed;
    fill({});
}

void Workload::reset_c(Fill fill) {
    if (on_device_) {
        const DType type = shape_.variant.result();
        return fill_on_device(type, buffers_[result_].data(),
                              static_cast<std::int64_t>(buffers_[result_].size()), bits_of(fill, type));
    }
    const Elements& before = host_->result(shape_.variant);
    if (fill == Fill::poison) return buffers_[result_].upload(before);
    const DType dtype = before.dtype();
    Elements c = before;
    const auto refill = [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        if (c.bits(at) == info(dtype).poison) c.set_bits(at, bits_of(fill, dtype));
    };
    if (shape_.variant.D || shape_.beta == 0.0f) {
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(c.size()); ++i) refill(i);
    } else {
        each_padding(shape_, refill);
    }
    buffers_[result_].upload(c);
}

std::string Workload::breach() const {
    const std::vector<Operand> all = operands(shape_.problem());
    for (const bool written : {true, false}) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            if ((all[i].role != Role::in) != written) continue;
            if (std::string s = buffers_[i].breach(all[i].name); !s.empty()) return s;
        }
    }
    return {};
}

}  // namespace gemm
