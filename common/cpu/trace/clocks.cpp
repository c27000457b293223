#include "common/cpu/trace/clocks.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace cpu_device::trace {

void Clocks::turn_on(std::size_t threads, std::size_t blocks) {
    on_ = true;
    threads_ = threads;
    blocks_ = blocks;
    width_ = 3 * threads + kMostMbarriers + blocks * ((threads / blocks + 127) / 128);  // warpgroups
    rows_.assign(threads * width_, 0);
    base_.assign(width_, 0);
    barriers_.clear();
}

Clocks::Barrier& Clocks::barrier(const void* mbarrier) {
    const auto [entry, fresh] = barriers_.try_emplace(mbarrier);
    Barrier& b = entry->second;
    if (fresh) {
        b.count = 3 * threads_ + std::min(barriers_.size() - 1, kMostMbarriers - 1);
        b.open.resize(width_);
        b.done.resize(width_);
    }
    return b;
}

Clocks::End Clocks::end_of_load(const void* mbarrier) {
    const Barrier& b = barrier(mbarrier);
    return {b.count, b.completed + 1};
}

void Clocks::met(unsigned first, unsigned lanes, Stamp stamp) {
    std::vector<unsigned> threads;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1)
        threads.push_back(first + static_cast<unsigned>(std::countr_zero(rest)));
    some_met(threads, stamp);
}

void Clocks::all_met(Stamp stamp) {
    for (unsigned thread = 0; thread < threads_; ++thread) {
        join(base_.data(), row(thread));
        raise(base_[thread], stamp);
    }
}

void Clocks::block_met(unsigned first, unsigned count, Stamp stamp) {
    std::vector<unsigned> threads(count);
    std::iota(threads.begin(), threads.end(), first);
    some_met(threads, stamp);
}

void Clocks::some_met(const std::vector<unsigned>& threads, Stamp stamp) {
    std::vector<Stamp> together(width_);
    for (const unsigned thread : threads) {
        raise(row(thread)[thread], stamp);
        join(together.data(), row(thread));
    }
    for (const unsigned thread : threads) join(row(thread), together.data());
}

void Clocks::release(unsigned thread, Stamp stamp, const void* mbarrier) {
    Barrier& b = barrier(mbarrier);
    raise(row(thread)[thread], stamp);
    join(b.open.data(), row(thread));
    join(b.open.data(), base_.data());
}

void Clocks::release_counts(unsigned thread, const void* mbarrier) {
    Barrier& b = barrier(mbarrier);
    join(b.open.data(), row(thread), 2 * threads_, width_);
    join(b.open.data(), base_.data(), 2 * threads_, width_);
}

void Clocks::complete(const void* mbarrier) {
    Barrier& b = barrier(mbarrier);
    raise(b.open[b.count], ++b.completed);
    std::swap(b.open, b.done);
    std::fill(b.open.begin(), b.open.end(), 0);
}

void Clocks::acquire(unsigned thread, const void* mbarrier, bool cluster) {
    const Stamp* const done = barrier(mbarrier).done.data();
    if (cluster || blocks_ == 1) return join(row(thread), done);
    const std::size_t count = threads_ / blocks_, first = thread / count * count;
    join(row(thread), done, first, first + count);
    join(row(thread), done, threads_ + first, threads_ + first + count);
    join(row(thread), done, 2 * threads_, width_);
}

void Clocks::fence(unsigned thread, Stamp stamp) {
    Stamp* const mine = row(thread);
    raise(mine[thread], stamp);
    for (unsigned other = 0; other < threads_; ++other) raise(mine[threads_ + other], at(thread, other));
}

}  // namespace cpu_device::trace
