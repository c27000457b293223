// What the lanes of a warp do together: a rendezvous, at which the last to arrive does the work for all.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <string>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/device.hpp"
#include "common/cpu/execution/tolerance.hpp"
#include "common/error.hpp"

namespace cpu_device {

unsigned Block::active_mask(Site site) {
    Thread& t = current();
    t.site = site;
    t.mask = 0;
    t.compute = nullptr;
    wait_as(State::at_active_mask);
    return static_cast<unsigned>(t.out);
}

std::uint64_t Block::collective(unsigned mask, Collective compute, std::uint64_t in, int argument, int width,
                                Site site, bool whole_warp) {
    const int self = running_->thread;
    const int first = self / kWarp * kWarp;
    const int lanes = std::min(kWarp, count_ - first);
    const unsigned exist = lanes == kWarp ? ~0u : (1u << lanes) - 1;
    mask &= exist;  // lanes that the block does not have are not waited for
    if ((mask >> (self - first) & 1u) == 0) {
        throw gemm::Error(text(site) + " is called by a lane that its mask leaves out.");
    }
    if (whole_warp && lanes < kWarp) {
        throw gemm::Error(text(site) + " needs all 32 threads of a warp, but this one has " +
                          std::to_string(lanes) + ".");
    }
    Thread& t = current();
    t.site = site;
    t.mask = mask;
    t.compute = compute;
    t.in = in;
    t.argument = argument;
    t.width = width;
    t.whole_warp = whole_warp;

    // The last to arrive does the work for all.
    const unsigned here = gathered(first, self) | 1u << (self - first);
    if (here != (whole_warp || done_ == 0 ? mask : mask & ~exited_lanes(first))) {
        unsigned& together = gathered_[static_cast<std::size_t>(first / kWarp)];
        if (together == 0 || (here & together) != 0) together = here;
        wait_as(State::at_collective);
        return t.out;
    }
    meet(first, here);
    return t.out;
}

/// Bits of the warp's lanes that wait where `self` has come to. A warp comes to most of its collectives as a
/// whole: then one comparison tells.
unsigned Block::gathered(int first, int self) const {
    const unsigned together = gathered_[static_cast<std::size_t>(first / kWarp)];
    if (together != 0 && same_collective(first + std::countr_zero(together), self)) return together;
    unsigned here = 0;
    for (int lane = 0; lane < kWarp && first + lane < count_; ++lane) {
        const int other = first + lane;
        if (state(other) == State::at_collective && same_collective(other, self)) here |= 1u << lane;
    }
    return here;
}

/// Bits of the warp's lanes that have returned. Nobody waits for them: only the non-exited threads that a
/// mask names must come (CUDA C++ Programming Guide, "Warp Shuffle Functions", "Synchronization Functions").
unsigned Block::exited_lanes(int first) const {
    unsigned exited = 0;
    for (int lane = 0; lane < kWarp && first + lane < count_; ++lane) {
        if (state(first + lane) == State::done) exited |= 1u << lane;
    }
    return exited;
}

/// The lanes, all at one collective, have met: computes what it gives each of them.
void Block::meet(int first, unsigned lanes) {
    gathered_[static_cast<std::size_t>(first / kWarp)] &= ~lanes;
    std::array<std::uint64_t, kWarp> inputs{}, outputs{};
    std::array<int, kWarp> arguments{};
    const Thread* any = nullptr;
    for (int lane = 0; lane < kWarp; ++lane) {
        if ((lanes >> lane & 1u) == 0) continue;
        any = &thread(first + lane);
        inputs[static_cast<std::size_t>(lane)] = any->in;
        arguments[static_cast<std::size_t>(lane)] = any->argument;
    }
    if (Observer* seen = observer()) {
        if (any->whole_warp) {
            seen->warp_executes(any->site);
        }
        if (!any->whole_warp || lanes_in_step()) seen->warp_met(first, lanes);
    }
    if (any->compute != nullptr)
        any->compute(lanes, inputs.data(), arguments.data(), any->width, outputs.data());
    for (int lane = 0; lane < kWarp; ++lane) {
        if ((lanes >> lane & 1u) == 0) continue;
        Thread& t = thread(first + lane);
        t.out = outputs[static_cast<std::size_t>(lane)];
        state(first + lane) = State::ready;
    }
}

/// Of a warp in which nobody can run: lets those go whose partners have all come or returned since, and those
/// that ask who is active, each with the lanes that ask at the same place. False where there are none.
bool Block::release_lanes(int first, int last) {
    if (async_ && release_arrived(first, last)) return true;
    if (lanes_in_step() && release_step(first, last)) return true;
    const unsigned exited = exited_lanes(first);
    for (int i = first; i < last; ++i) {
        const Thread& t = thread(i);
        if (state(i) != State::at_collective && state(i) != State::at_active_mask) continue;
        unsigned here = 0;
        for (int o = first; o < last; ++o) {
            if (state(o) == state(i) && same_collective(o, i)) here |= 1u << (o - first);
        }
        if (state(i) == State::at_collective) {
            if (t.whole_warp && exited != 0) {
                throw BlockFailure{gemm::FaultId::deadlock,
                                   where(i) + text(t.site) + " needs all 32 threads of the warp, but " +
                                       who(first + std::countr_zero(exited)) + " has returned."};
            }
            if (here != (t.mask & ~exited)) continue;
            meet(first, here);
            return true;
        }
        for (int o = first; o < last; ++o) {
            if ((here >> (o - first) & 1u) == 0) continue;
            thread(o).out = here;
            state(o) = State::ready;
        }
        return true;
    }
    return false;
}

/// Of a warp in which nobody can run: lets the lanes go whose next instruction is the first of those that
/// lanes are about to execute, which is where lanes that branched off meet again. False where there are none.
bool Block::release_step(int first, int last) {
    const void* next = nullptr;
    for (int i = first; i < last; ++i) {
        if (state(i) == State::in_step && (next == nullptr || std::less<>{}(thread(i).next, next)))
            next = thread(i).next;
    }
    if (next == nullptr) return false;
    unsigned lanes = 0;
    bool whole = true;
    for (int i = first; i < last; ++i) {
        if (state(i) == State::in_step && thread(i).next == next) {
            lanes |= 1u << (i - first);
            state(i) = State::ready;
        } else {
            whole = whole && state(i) == State::done;
        }
    }
    if (Observer* o = observer(); o != nullptr && whole) o->warp_met(first, lanes);
    return true;
}

void Block::wait_in_step(const void* caller) {
    current().next = caller;
    wait_as(State::in_step);
}

void Block::step(const void* caller, const void* address) {
    if (lanes_in_step() && is_shared(address, 0)) wait_in_step(caller);
}

/// Or no further from the block's shared memory than that.
bool Block::is_shared(const void* address, std::uintptr_t around) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto near = [&](const void* start, std::size_t bytes) {
        const auto first = reinterpret_cast<std::uintptr_t>(start);
        return at + around >= first && at < first + bytes + around;
    };
    return near(static_shared_, static_shared_bytes_) || near(dynamic_shared_, grid_->dynamic_shared_bytes);
}

void Block::matrix_row(const void* caller, const void* address, bool accesses, bool writes,
                       const Site& site) {
    if (lanes_in_step()) wait_in_step(caller);
    Observer* const seen = observer();
    if (!accesses) {
        if (seen != nullptr) seen->warp_accesses(caller, nullptr, 0, writes);
        return;
    }
    const char* const does = writes ? " writes" : " reads";
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (at % 16 != 0) {
        throw gemm::Error(text(site) + does + " 16 bytes at an address that is not a multiple of 16.");
    }
    // What misses an array by less is for the tracer to report.
    if (is_device_memory(address) || !is_shared(address, kSharedPad)) {
        throw gemm::Error(text(site) + does + " at an address that is not in shared memory.");
    }
    if (seen != nullptr) seen->warp_accesses(caller, address, 16, writes);
}

// CUDA C++ Programming Guide, "Warp shuffle functions": the warp is cut into segments of `width` lanes; a
// lane whose source lies outside its segment (or takes no part, where CUDA leaves the value undefined) gets
// its own value.
namespace {
template <class Source>
void shuffle_lanes(unsigned lanes, const std::uint64_t* in, const int* argument, std::uint64_t* out,
                   Source source) {
    for (int lane = 0; lane < kWarp; ++lane) {
        const int from = source(lane, argument[lane]);
        out[lane] = from >= 0 && from < kWarp && (lanes >> from & 1u) ? in[from] : in[lane];
    }
}
}  // namespace
void shuffle_index(unsigned lanes, const std::uint64_t* in, const int* argument, int width,
                   std::uint64_t* out) {
    shuffle_lanes(lanes, in, argument, out,
                  [&](int lane, int a) { return lane / width * width + (a & (width - 1)); });
}
void shuffle_up(unsigned lanes, const std::uint64_t* in, const int* argument, int width, std::uint64_t* out) {
    shuffle_lanes(lanes, in, argument, out,
                  [&](int lane, int a) { return lane % width >= a ? lane - a : lane; });
}
void shuffle_down(unsigned lanes, const std::uint64_t* in, const int* argument, int width,
                  std::uint64_t* out) {
    shuffle_lanes(lanes, in, argument, out,
                  [&](int lane, int a) { return lane % width + a < width ? lane + a : lane; });
}
void shuffle_xor(unsigned lanes, const std::uint64_t* in, const int* argument, int width,
                 std::uint64_t* out) {
    shuffle_lanes(lanes, in, argument, out, [&](int lane, int a) {
        // A segment may read from earlier ones, not from later ones.
        const int from = lane ^ a;
        return from / width <= lane / width ? from : lane;
    });
}
void ballot(unsigned lanes, const std::uint64_t* in, const int*, int, std::uint64_t* out) {
    std::uint64_t votes = 0;
    for (int lane = 0; lane < kWarp; ++lane) {
        if ((lanes >> lane & 1u) && in[lane] != 0) votes |= std::uint64_t{1} << lane;
    }
    std::fill(out, out + kWarp, votes);
}

}  // namespace cpu_device
