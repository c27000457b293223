#include "common/cpu/execution/warpgroups.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "common/cpu/ptx/narrow_float.hpp"

namespace cpu_device {
namespace {

using gemm::ptx::kWgmmaRowBytes;
using gemm::ptx::Major;
using gemm::ptx::WgmmaInput;
using gemm::ptx::WgmmaPlace;

constexpr int kRows = 64, kMostColumns = 256;
constexpr unsigned kUnit = 16;  // bytes that lie side by side wherever a matrix lies

/// What sums hold while they are under way: NaN.
bool garbage(const void* values, int count) {
    const auto* const bytes = static_cast<const unsigned char*>(values);
    return std::all_of(bytes, bytes + 4 * count, [](unsigned char b) { return b == 0xff; });
}

unsigned bytes_of(WgmmaInput input) {
    switch (input) {
        case WgmmaInput::tf32:
            return 4;
        case WgmmaInput::bf16:
        case WgmmaInput::f16:
            return 2;
        default:
            return 1;
    }
}

/// FP8 is FP16 with fewer bits: e5m2 its upper byte; e4m3, but for its NaN, its bits from the second one on,
/// 2^8 times too small, subnormal or not.
double value_of_fp8(WgmmaInput input, std::uint8_t bits) {
    if (input == WgmmaInput::e5m2)
        return static_cast<double>(value_of_half(static_cast<std::uint16_t>(bits << 8)));
    if ((bits & 0x7f) == 0x7f) return std::numeric_limits<double>::quiet_NaN();
    const int half = (bits & 0x80) << 8 | (bits & 0x7f) << 7;
    return static_cast<double>(value_of_half(static_cast<std::uint16_t>(half))) * 256;
}

double value(WgmmaInput input, const std::uint8_t* bytes) {
    std::uint16_t two;
    std::uint32_t four;
    switch (input) {
        case WgmmaInput::tf32:
            std::memcpy(&four, bytes, sizeof four);
            return static_cast<double>(__builtin_bit_cast(float, four & 0xffffe000u));
        case WgmmaInput::bf16:
            std::memcpy(&two, bytes, sizeof two);
            return static_cast<double>(value_of_bfloat16(two));
        case WgmmaInput::f16:
            std::memcpy(&two, bytes, sizeof two);
            return static_cast<double>(value_of_half(two));
        case WgmmaInput::s8:
            return static_cast<double>(static_cast<std::int8_t>(*bytes));
        case WgmmaInput::u8:
            return static_cast<double>(*bytes);
        default:
            return value_of_fp8(input, *bytes);
    }
}

/// The bytes of a matrix, rows along K, and their numbers, as many a row as there are.
template <std::size_t ROWS>
struct Matrix {
    std::array<std::array<std::uint8_t, kWgmmaRowBytes>, ROWS> bytes;
    std::array<std::array<double, kWgmmaRowBytes>, ROWS> numbers;

    void decode(unsigned rows, WgmmaInput input) {
        const unsigned each = bytes_of(input);
        for (unsigned row = 0; row < rows; ++row) {
            for (unsigned k = 0; k < kWgmmaRowBytes / each; ++k)
                numbers[row][k] = value(input, &bytes[row][k * each]);
        }
    }
};

/// Calls body(address, row, k) for every 16 bytes that lie side by side, k counting pairs of bytes.
template <class Body>
void each_unit(std::uint64_t descriptor, Major major, unsigned rows, Body body) {
    const gemm::ptx::WgmmaFields fields = gemm::ptx::decode(descriptor);
    const unsigned step = major == Major::k ? 1 : 8;
    for (unsigned row = 0; row < rows; row += step) {
        for (unsigned k = 0; k < kWgmmaRowBytes / 2; k += 8 / step)
            body(wgmma_address(fields, major, row, k), row, k);
    }
}

/// From shared memory.
template <std::size_t ROWS>
std::string read(Matrix<ROWS>& matrix, unsigned rows, std::uint64_t descriptor, Major major,
                 const Warpgroup::Fetch& fetch) {
    std::string why;
    each_unit(descriptor, major, rows, [&](unsigned address, unsigned row, unsigned k) {
        std::uint8_t sixteen[kUnit];
        if (why.empty()) why = fetch(address, sixteen);
        if (!why.empty()) return;
        if (major == Major::k) {
            std::memcpy(&matrix.bytes[row][k * 2], sixteen, kUnit);
        } else {
            for (unsigned e = 0; e < 8; ++e) std::memcpy(&matrix.bytes[row + e][k * 2], sixteen + 2 * e, 2);
        }
    });
    return why;
}

/// A sum that an integer of 32 bits need not hold.
std::uint32_t integer_bits(double sum, bool saturate) {
    auto whole = static_cast<std::int64_t>(sum);
    if (saturate)
        whole = std::clamp<std::int64_t>(whole, std::numeric_limits<std::int32_t>::min(),
                                         std::numeric_limits<std::int32_t>::max());
    return static_cast<std::uint32_t>(whole);
}

/// Adds to sum `index` of a thread, whose registers with sums are `words`, or replaces it.
void add_to(std::vector<std::uint32_t>& words, unsigned index, const WgmmaMultiply& call, double product) {
    if (call.kind == WgmmaSums::f16) {
        const unsigned shift = index % 2 * 16;
        std::uint32_t& word = words[index / 2];
        const auto before =
            static_cast<double>(value_of_half(static_cast<std::uint16_t>(word >> shift & 0xffff)));
        const std::uint32_t after = half_bits((call.add ? before : 0.0) + product);
        word = (word & ~(0xffffu << shift)) | after << shift;
    } else if (call.kind == WgmmaSums::s32) {
        const double before = call.add ? static_cast<double>(static_cast<std::int32_t>(words[index])) : 0.0;
        words[index] = integer_bits(before + product, call.saturate);
    } else {
        const double before = call.add ? static_cast<double>(__builtin_bit_cast(float, words[index])) : 0.0;
        words[index] = __builtin_bit_cast(std::uint32_t, static_cast<float>(before + product));
    }
}

/// A clause; empty where PTX has such an instruction.
std::string impossible(const WgmmaMultiply& call) {
    const auto refused = [](const char* name, WgmmaInput input, Major major) {
        return major == Major::k || bytes_of(input) == 2
                   ? std::string()
                   : std::string("has ") + name +
                         " MN-major, which only numbers of 16 bits can be: others must be K-major";
    };
    const std::string why = refused("A", call.input_a, call.major_a);
    return why.empty() ? refused("B", call.input_b, call.major_b) : why;
}

}  // namespace

void Warpgroup::begin_block() {
    threads_ = {};
    operations_.clear();
    computed_ = batches_ = 0;
}

Warpgroup::Sums* Warpgroup::find(Thread& thread, const void* at) {
    for (Sums& s : thread.sums) {
        if (s.at == at) return &s;
    }
    return nullptr;
}

void Warpgroup::fence(int thread) {
    Thread& me = threads_[static_cast<std::size_t>(thread)];
    me.fenced = me.ever_fenced = true;
}

/// A clause; empty where nothing does.
std::string Warpgroup::differs(const Operation& one, const WgmmaMultiply& call, const Site& site,
                               std::uint64_t batch) {
    const std::string first = "the warpgroup's thread " + std::to_string(one.first);
    if (one.site.line != site.line || std::strcmp(one.site.file, site.file) != 0)
        return "meets the one of " + first + " at " + one.site.file + ":" + std::to_string(one.site.line);
    const auto kind = [](const WgmmaMultiply& c) {
        return std::tuple(c.count, c.registers != nullptr, c.major_a, c.major_b, c.minus_a, c.minus_b,
                          c.input_a, c.input_b, c.kind, c.saturate);
    };
    const char* const what = one.call.a != call.a           ? "descriptor of A"
                             : one.call.b != call.b         ? "descriptor of B"
                             : one.call.add != call.add     ? "scale-d"
                             : kind(one.call) != kind(call) ? "form"
                             : one.batch != batch           ? "batch"
                                                            : nullptr;
    return what == nullptr ? "" : std::string("has another ") + what + " than " + first + " has";
}

std::string Warpgroup::start(int thread, const WgmmaMultiply& call, const Site& site) {
    Thread& me = threads_[static_cast<std::size_t>(thread)];
    const auto count = static_cast<std::size_t>(call.count);
    Sums* sums = find(me, call.sums);
    if (std::string why = impossible(call); !why.empty()) return why;
    if (!me.ever_fenced)
        return "has no wgmma.fence before it: what the thread has written to registers need not be there yet";
    if (!me.fenced && call.registers != nullptr)
        return "reads A from registers, with no wgmma.fence since the batch before";
    if (!me.fenced && sums != nullptr && sums->there && sums->values.size() == count &&
        std::memcmp(sums->values.data(), call.sums, count * sizeof(std::uint32_t)) != 0)
        return "adds to sums that the thread has written since the batch before, with no wgmma.fence in "
               "between";
    if (sums != nullptr && !sums->there && !garbage(call.sums, call.count))
        return "adds to sums that the thread has written while wgmma may still add to them: wgmma.wait_group "
               "comes first";
    const std::size_t index = me.operations - computed_;
    if (index == operations_.size())
        operations_.push_back({.call = call, .site = site, .batch = me.batches, .first = thread});
    Operation& operation = operations_[index];
    if (const std::string why = differs(operation, call, site, me.batches); !why.empty())
        return why + ": all 128 threads execute it together";
    operation.sums[static_cast<std::size_t>(thread)] = call.sums;
    ++operation.threads;
    if (call.registers != nullptr) {
        operation.registers.resize(kWarpgroup);
        std::copy_n(call.registers, 4, operation.registers[static_cast<std::size_t>(thread)].begin());
    }
    ++me.operations;
    if (sums == nullptr) sums = &me.sums.emplace_back(Sums{call.sums, 0, site, true, {}});
    if (sums->there) {
        sums->values.resize(count);
        std::memcpy(sums->values.data(), call.sums, count * sizeof(std::uint32_t));
    }
    sums->there = false;
    sums->batch = me.batches;
    sums->site = site;
    std::memset(call.sums, 0xff, count * sizeof(std::uint32_t));
    return {};
}

bool Warpgroup::leads(int thread) const {
    const Operation& last = operations_.back();
    return last.first == thread && last.threads == 1;
}

std::vector<unsigned> Warpgroup::addresses(const WgmmaMultiply& call) {
    std::vector<unsigned> all;
    const auto add = [&](unsigned address, unsigned, unsigned) { all.push_back(address); };
    if (call.registers == nullptr) each_unit(call.a, call.major_a, kRows, add);
    each_unit(call.b, call.major_b, call.columns(), add);
    return all;
}

bool Warpgroup::commit(int thread) {
    Thread& me = threads_[static_cast<std::size_t>(thread)];
    const bool behind = me.batches++ == batches_;
    if (!behind || first_without(batches_ + 1) >= 0) return false;
    ++batches_;
    return true;
}

int Warpgroup::first_without(std::uint64_t batches) const {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        if (threads_[i].batches < batches) return static_cast<int>(i);
    }
    return -1;
}

std::uint64_t Warpgroup::awaited(int thread, int pending) const {
    const std::uint64_t mine = threads_[static_cast<std::size_t>(thread)].batches;
    const auto keep = static_cast<std::uint64_t>(std::max(pending, 0));
    return mine > keep ? mine - keep : 0;
}

std::string Warpgroup::compute(std::uint64_t batches, const Fetch& fetch, Site& site) {
    while (!operations_.empty() && operations_.front().batch < batches) {
        const Operation& operation = operations_.front();
        site = operation.site;
        std::string why;
        if (operation.threads < kWarpgroup) {
            why = "was executed by " + std::to_string(operation.threads) +
                  " of the warpgroup's 128 threads when all had committed the batch";
        } else {
            why = compute(operation, fetch);
        }
        if (!why.empty()) return why;
        operations_.pop_front();
        ++computed_;
    }
    return {};
}

std::string Warpgroup::compute(const Operation& operation, const Fetch& fetch) {
    const WgmmaMultiply& call = operation.call;
    static thread_local Matrix<kRows> a;
    static thread_local Matrix<kMostColumns> b;
    if (call.registers == nullptr) {
        if (std::string why = read(a, kRows, call.a, call.major_a, fetch); !why.empty())
            return why + ", of A";
    } else {
        for (unsigned t = 0; t < kWarpgroup; ++t) {
            for (unsigned r = 0; r < 4; ++r) {
                for (unsigned byte = 0; byte < 4; ++byte) {
                    const WgmmaPlace p = gemm::ptx::wgmma_a_byte(t, r, byte);
                    a.bytes[p.row][p.column] =
                        static_cast<std::uint8_t>(operation.registers[t][r] >> 8 * byte);
                }
            }
        }
    }
    if (std::string why = read(b, call.columns(), call.b, call.major_b, fetch); !why.empty())
        return why + ", of B";
    a.decode(kRows, call.input_a);
    b.decode(call.columns(), call.input_b);
    const std::size_t steps = kWgmmaRowBytes / bytes_of(call.input_a);
    const double sign = call.minus_a != call.minus_b ? -1 : 1;
    for (unsigned t = 0; t < kWarpgroup; ++t) {
        std::vector<std::uint32_t>& words = find(threads_[t], operation.sums[t])->values;
        for (unsigned i = 0; i < call.columns() / 2; ++i) {
            const WgmmaPlace p = gemm::ptx::wgmma_sum(t, i);
            double sum = 0;
            for (std::size_t k = 0; k < steps; ++k) sum += a.numbers[p.row][k] * b.numbers[p.column][k];
            add_to(words, i, call, sign * sum);
        }
    }
    return {};
}

void Warpgroup::deliver(int thread, std::uint64_t batches) {
    Thread& me = threads_[static_cast<std::size_t>(thread)];
    for (Sums& s : me.sums) {
        if (s.there || s.batch >= batches) continue;
        std::memcpy(s.at, s.values.data(), s.values.size() * sizeof(std::uint32_t));
        s.there = true;
        me.fenced = false;
    }
}

const Site* Warpgroup::left_behind() const {
    for (const Thread& t : threads_) {
        for (const Sums& s : t.sums) {
            if (!s.there) return &s.site;
        }
    }
    return nullptr;
}

}  // namespace cpu_device
