// No thread of a block can go on, and it uses mbarriers: what each of them waits for, who waits for it and
// where, and what the others do.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/device.hpp"

namespace cpu_device {
namespace {

std::string count_of(std::uint64_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// "thread 0", "threads 32–63, 96": linear in the block.
std::string list(const std::vector<int>& threads) {
    std::string all = threads.size() == 1 ? "thread " : "threads ";
    for (std::size_t i = 0; i < threads.size();) {
        std::size_t last = i;
        while (last + 1 < threads.size() && threads[last + 1] == threads[last] + 1) ++last;
        if (i > 0) all += ", ";
        all += std::to_string(threads[i]);
        if (last > i) all += "–" + std::to_string(threads[last]);
        i = last + 1;
    }
    return all;
}

std::string s_of(const std::vector<int>& threads) {
    return threads.size() == 1 ? "s" : "";
}

}  // namespace

/// What an address in shared memory is called in the source, as far as that is known: "full[1]" for an
/// mbarrier of an array of them, "tile + 512 bytes", "shared memory + 1024 bytes" for dynamic arrays.
std::string Block::name_of(const void* shared) const {
    const auto* const at = static_cast<const std::byte*>(shared);
    const auto part = [&](const std::string& name, const std::byte* start, std::size_t bytes) {
        const auto offset = static_cast<std::size_t>(at - start);
        bool barriers = offset % sizeof(std::uint64_t) == 0 && bytes % sizeof(std::uint64_t) == 0;
        barriers = barriers && std::any_of(mbarriers_.all().begin(), mbarriers_.all().end(),
                                           [&](const Mbarrier& b) { return b.address == shared; });
        if (offset == 0 && (!barriers || bytes == sizeof(std::uint64_t))) return name;
        if (barriers && bytes <= 64 * sizeof(std::uint64_t))
            return name + "[" + std::to_string(offset / sizeof(std::uint64_t)) + "]";
        return name + " + " + count_of(offset, "byte");
    };
    for (const SharedArray& a : *grid_->shared) {
        const std::byte* const start = shared_array_address(a);
        if (at >= start && at < start + a.bytes) return part(a.name, start, a.bytes);
    }
    const auto* const dynamic = static_cast<const std::byte*>(dynamic_shared_);
    return "shared memory + " + count_of(static_cast<std::size_t>(at - dynamic), "byte");
}

void Block::autopsy() const {
    stop_observing();
    std::string told;
    // The likeliest mistake comes first: bytes, an arrival that is missing, a parity. Else nobody has
    // arrived.
    std::array<std::string, 3> guesses;
    std::string untouched;
    const auto guess = [&](std::size_t kind, const std::string& sentence) {
        if (guesses[kind].empty()) guesses[kind] = "\n  Likely: " + sentence;
    };
    for (const Mbarrier& b : mbarriers_.all()) {
        if (b.address == nullptr) continue;
        const std::string name = name_of(b.address);
        const unsigned parity = b.phase & 1;
        const BulkCopy* copy = nullptr;
        const std::uint64_t under_way = bulk_.to_come(b.address, copy);
        told += "\n  mbarrier " + name + ": phase " + std::to_string(b.phase) + " (parity " +
                std::to_string(parity) + ") is open; " + std::to_string(b.pending) + " of " +
                std::to_string(b.arrivals) + " arrivals missing";
        if (b.expected > 0 || b.bytes != 0) {
            told += b.bytes >= 0
                        ? ", " + std::to_string(b.bytes) + " of " + count_of(b.expected, "byte") + " missing"
                        : ", " + count_of(static_cast<std::uint64_t>(-b.bytes), "byte") +
                              " more have come than it was told to expect";
        }
        told += ".";
        std::map<std::tuple<std::string, int, unsigned>, std::vector<int>> waiting;
        for (int i = 0; i < count_; ++i) {
            const Thread& t = thread(i);
            if (state(i) == State::at_mbarrier && t.mbarrier == b.address)
                waiting[{t.site.file, t.site.line, t.parity}].push_back(i);
        }
        for (const auto& [place, threads] : waiting) {
            const auto& [file, line, wanted] = place;
            told += " " + list(threads) + " wait" + s_of(threads) + " for parity " + std::to_string(wanted) +
                    " at " + file + ":" + std::to_string(line) + ".";
        }
        if (waiting.empty()) continue;
        const auto& [place, threads] = *waiting.begin();
        const std::uint64_t seen = b.seen[static_cast<std::size_t>(threads.front())];
        if (b.pending == 0 && b.bytes > 0 && under_way == 0) {
            guess(0, name + " was told to expect " + count_of(static_cast<std::uint64_t>(b.bytes), "byte") +
                         " more than the copies of this phase bring: expect_tx says too many, or a copy has "
                         "not started.");
        } else if (b.bytes < 0) {
            guess(0, "copies bring more to " + name +
                         " than it was told to expect: expect_tx says too few, or comes a phase "
                         "late.");
        } else if (b.phase > 0 && seen < b.phase && b.pending == b.arrivals) {
            guess(2,
                  "phase " + std::to_string(b.phase - 1) + " of " + name + " is complete, and " +
                      list(threads) + (threads.size() == 1 ? ", which waits" : ", which wait") +
                      " for the one after it, " + (threads.size() == 1 ? "has" : "have") +
                      " not seen it: that parity is off by one, or who arrives there has not waited first.");
        } else if (b.pending == b.arrivals) {
            untouched +=
                (untouched.empty() ? "" : " and ") + name + " (parity " + std::to_string(parity) + ")";
        } else if (b.pending > 0) {
            guess(1, name + " counts " + std::to_string(b.arrivals) + " arrivals a phase, and " +
                         std::to_string(b.arrivals - b.pending) +
                         " came: does mbarrier_init() say how many arrive?");
        }
    }
    std::string likely = guesses[0].empty() ? guesses[1].empty() ? guesses[2] : guesses[1] : guesses[0];
    if (likely.empty() && !untouched.empty()) {
        likely = "\n  Likely: nobody has arrived in the phase that is waited for, at " + untouched +
                 ": a stage that nobody fills or releases, or a wait for the wrong parity (one that shall "
                 "not wait the first "
                 "time is for parity 1).";
    }
    std::map<std::string, std::vector<int>> others;
    for (int i = 0; i < count_; ++i) {
        if (state(i) == State::at_mbarrier) continue;
        others[state(i) == State::done ? std::string() : text(thread(i).site)].push_back(i);
    }
    for (const auto& [place, threads] : others) {
        told += "\n  " + list(threads) +
                (place.empty() ? (threads.size() == 1 ? " has returned." : " have returned.")
                               : " wait" + s_of(threads) + " at " + place + ".");
    }
    throw BlockFailure{FaultId::mbarrier_hang, std::string("kernel ") + grid_->kernel + ", block " +
                                                   text({index_.x, index_.y, index_.z}) +
                                                   ": no thread can go on." + told + likely};
}

}  // namespace cpu_device
