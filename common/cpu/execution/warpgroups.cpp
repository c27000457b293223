#include "common/cpu/execution/warpgroups.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "common/cpu/ptx/narrow_float.hpp"

namespace cpu_device {
namespace {

using gemm::ptx::Major;
using gemm::ptx::WgmmaPlace;

constexpr int kRows = 64, kSteps = 16, kMostColumns = 256;

/// What sums hold while they are under way: NaN.
bool garbage(const float* values, std::size_t count) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(values);
    return std::all_of(bytes, bytes + count * sizeof(float), [](unsigned char b) { return b == 0xff; });
}

double value(std::uint16_t bits, bool half) {
    return static_cast<double>(half ? value_of_half(bits) : value_of_bfloat16(bits));
}

/// Calls body(address, row, k) for every 8 elements that lie side by side, from that one on.
template <class Body>
void each_eight(std::uint64_t descriptor, Major major, unsigned rows, Body body) {
    const gemm::ptx::WgmmaFields fields = gemm::ptx::decode(descriptor);
    const unsigned step = major == Major::k ? 1 : 8;
    for (unsigned row = 0; row < rows; row += step) {
        for (unsigned k = 0; k < kSteps; k += 8 / step) body(wgmma_address(fields, major, row, k), row, k);
    }
}

/// Rows of 16 along k, from shared memory.
template <std::size_t ROWS>
std::string read(std::array<std::array<double, kSteps>, ROWS>& matrix, unsigned rows,
                 std::uint64_t descriptor, Major major, bool half, const Warpgroup::Fetch& fetch) {
    std::string why;
    each_eight(descriptor, major, rows, [&](unsigned address, unsigned row, unsigned k) {
        std::uint16_t eight[8];
        if (why.empty()) why = fetch(address, eight);
        for (unsigned e = 0; e < 8 && why.empty(); ++e)
            (major == Major::k ? matrix[row][k + e] : matrix[row + e][k]) = value(eight[e], half);
    });
    return why;
}

}  // namespace

void Warpgroup::begin_block() {
    threads_ = {};
    operations_.clear();
    computed_ = batches_ = 0;
}

Warpgroup::Sums* Warpgroup::find(Thread& thread, const float* at) {
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
std::string Warpgroup::differs(const Operation& one, const WgmmaCall& call, const Site& site,
                               std::uint64_t batch) {
    const std::string first = "the warpgroup's thread " + std::to_string(one.first);
    if (one.site.line != site.line || std::strcmp(one.site.file, site.file) != 0)
        return "meets the one of " + first + " at " + one.site.file + ":" + std::to_string(one.site.line);
    const auto kind = [](const WgmmaCall& c) {
        return std::tuple(c.count, c.registers != nullptr, c.major_a, c.major_b, c.minus_a, c.minus_b,
                          c.half);
    };
    const char* const what = one.call.a != call.a           ? "descriptor of A"
                             : one.call.b != call.b         ? "descriptor of B"
                             : one.call.add != call.add     ? "scale-d"
                             : kind(one.call) != kind(call) ? "form"
                             : one.batch != batch           ? "batch"
                                                            : nullptr;
    return what == nullptr ? "" : std::string("has another ") + what + " than " + first + " has";
}

std::string Warpgroup::start(int thread, const WgmmaCall& call, const Site& site) {
    Thread& me = threads_[static_cast<std::size_t>(thread)];
    const auto count = static_cast<std::size_t>(call.count);
    Sums* sums = find(me, call.sums);
    if (!me.ever_fenced)
        return "has no wgmma.fence before it: what the thread has written to registers need not be there yet";
    if (!me.fenced && call.registers != nullptr)
        return "reads A from registers, with no wgmma.fence since the batch before";
    if (!me.fenced && sums != nullptr && sums->there && sums->values.size() == count &&
        std::memcmp(sums->values.data(), call.sums, count * sizeof(float)) != 0)
        return "adds to sums that the thread has written since the batch before, with no wgmma.fence in "
               "between";
    if (sums != nullptr && !sums->there && !garbage(call.sums, count))
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
    if (sums->there) sums->values.assign(call.sums, call.sums + call.count);
    sums->there = false;
    sums->batch = me.batches;
    sums->site = site;
    std::memset(call.sums, 0xff, count * sizeof(float));
    return {};
}

bool Warpgroup::leads(int thread) const {
    const Operation& last = operations_.back();
    return last.first == thread && last.threads == 1;
}

std::vector<unsigned> Warpgroup::addresses(const WgmmaCall& call) {
    std::vector<unsigned> all;
    const auto add = [&](unsigned address, unsigned, unsigned) { all.push_back(address); };
    if (call.registers == nullptr) each_eight(call.a, call.major_a, kRows, add);
    each_eight(call.b, call.major_b, static_cast<unsigned>(call.count) * 2, add);
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
    const WgmmaCall& call = operation.call;
    const auto columns = static_cast<unsigned>(call.count) * 2;
    static thread_local std::array<std::array<double, kSteps>, kRows> a;
    static thread_local std::array<std::array<double, kSteps>, kMostColumns> b;
    if (call.registers == nullptr) {
        if (std::string why = read(a, kRows, call.a, call.major_a, call.half, fetch); !why.empty())
            return why + ", of A";
    } else {
        for (unsigned t = 0; t < kWarpgroup; ++t) {
            for (unsigned r = 0; r < 4; ++r) {
                for (unsigned half = 0; half < 2; ++half) {
                    const WgmmaPlace p = gemm::ptx::wgmma_a(t, r, half);
                    a[p.row][p.column] =
                        value(static_cast<std::uint16_t>(operation.registers[t][r] >> 16 * half), call.half);
                }
            }
        }
    }
    if (std::string why = read(b, columns, call.b, call.major_b, call.half, fetch); !why.empty())
        return why + ", of B";
    const double sign = call.minus_a != call.minus_b ? -1 : 1;
    for (unsigned t = 0; t < kWarpgroup; ++t) {
        std::vector<float>& sums = find(threads_[t], operation.sums[t])->values;
        for (unsigned i = 0; i < sums.size(); ++i) {
            const WgmmaPlace p = gemm::ptx::wgmma_sum(t, i);
            double sum = 0;
            for (std::size_t k = 0; k < kSteps; ++k) sum += a[p.row][k] * b[p.column][k];
            sums[i] = static_cast<float>((call.add ? static_cast<double>(sums[i]) : 0.0) + sign * sum);
        }
    }
    return {};
}

void Warpgroup::deliver(int thread, std::uint64_t batches) {
    Thread& me = threads_[static_cast<std::size_t>(thread)];
    for (Sums& s : me.sums) {
        if (s.there || s.batch >= batches) continue;
        std::copy(s.values.begin(), s.values.end(), s.at);
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
