// What an autopsy says, in words for people. Programs read its fields instead.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/cpu/execution/autopsy.hpp"

namespace cpu_device {
namespace {

using gemm::Autopsy;
using gemm::MistakeId;

std::string count_of(std::uint64_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// Of whom a sentence speaks: threads of a block, or of the blocks of a cluster.
struct Names {
    unsigned blocks = 1;
    int threads = 0;  // of a block

    /// "thread 0", "threads 32–63, 96": linear in the block; "thread 0 of block 1" in a cluster.
    std::string operator()(const Autopsy::Threads& all) const {
        if (blocks <= 1) return list(all, 0);
        std::string told;
        for (unsigned rank = 0; rank < blocks; ++rank) {
            const int first = static_cast<int>(rank) * threads;
            Autopsy::Threads of_block;
            for (const int thread : all) {
                if (thread >= first && thread < first + threads) of_block.push_back(thread);
            }
            if (of_block.empty()) continue;
            told +=
                (told.empty() ? "" : " and ") + list(of_block, first) + " of block " + std::to_string(rank);
        }
        return told;
    }

  private:
    static std::string list(const Autopsy::Threads& threads, int first) {
        std::string all = threads.size() == 1 ? "thread " : "threads ";
        for (std::size_t i = 0; i < threads.size();) {
            std::size_t last = i;
            while (last + 1 < threads.size() && threads[last + 1] == threads[last] + 1) ++last;
            if (i > 0) all += ", ";
            all += std::to_string(threads[i] - first);
            if (last > i) all += "–" + std::to_string(threads[last] - first);
            i = last + 1;
        }
        return all;
    }
};
Names names_of(const Autopsy& a) {
    return {a.cluster_blocks, a.threads};
}

/// One or several of them: "waits", "wait".
std::string verb(const Autopsy::Threads& threads, const char* one, const char* several) {
    return threads.size() == 1 ? one : several;
}

std::string place(const Autopsy::Place& p) {
    return p.file + ":" + std::to_string(p.line);
}
std::string text(const Autopsy::Place& p) {
    return p.what + " at " + place(p);
}

std::string text(const Autopsy::Barrier& b, const Names& list) {
    std::string told = "\n  mbarrier " + b.name + ": phase " + std::to_string(b.phase) + " (parity " +
                       std::to_string(b.phase & 1) + ") is open; " + std::to_string(b.missing) + " of " +
                       std::to_string(b.arrivals) + " arrivals missing";
    if (b.missing > 0 && !b.arrived.empty()) told += " (arrived: " + list(b.arrived) + ")";
    if (b.bytes_missing < 0) {
        told += ", " + count_of(static_cast<std::uint64_t>(-b.bytes_missing), "byte") +
                " more have come than it was told to expect";
    } else if (b.expected > 0) {
        told += ", " + std::to_string(b.bytes_missing) + " of " + count_of(b.expected, "byte") + " missing";
    }
    told += ".";
    for (const Autopsy::Waiting& w : b.waiting) {
        told += " " + list(w.threads) + verb(w.threads, " waits", " wait") + " for parity " +
                std::to_string(w.parity) + " at " + place(w.at) + ".";
    }
    return told;
}

}  // namespace

std::string text_of(const Autopsy& autopsy, const Autopsy::Likely& l) {
    const Names list = names_of(autopsy);
    const bool cluster = autopsy.cluster_blocks > 1;
    const std::string& name = l.barriers.front();
    switch (l.id) {
        case MistakeId::bytes_missing:
            return name + " was told to expect " + count_of(l.bytes, "byte") +
                   " more than the copies of this phase bring: expect_tx says too many, or a copy has not "
                   "started" +
                   (cluster ? ", or the mask of a multicast leaves this block out." : ".");
        case MistakeId::bytes_unexpected:
            return "copies bring more to " + name +
                   " than it was told to expect: expect_tx says too few, or comes a phase late" +
                   (cluster ? ", or the mask of a multicast names this block by mistake." : ".");
        case MistakeId::passed_empty:
            return list(l.threads) + " went past " + name +
                   " in phase 0, when nothing was complete there, and arrived at " + l.barriers.back() +
                   " before its waiter had come: that wait at " + name + " is for the wrong parity.";
        case MistakeId::parity_off:
            return "phase " + std::to_string(l.phase - 1) + " of " + name + " is complete, and " +
                   list(l.threads) + verb(l.threads, ", which waits", ", which wait") +
                   " for the one after it, " + verb(l.threads, "has", "have") +
                   " not seen it: that parity is off by one, or whoever arrives there has not waited first.";
        case MistakeId::arriver_returned:
            return list(l.threads) + ", which arrived at " + name + " in the phase before, " +
                   verb(l.threads, "has", "have") + " returned, and phase " + std::to_string(l.phase) +
                   " waits for " + verb(l.threads, "it: it leaves its", "them: they leave their") +
                   " loop too early, or whoever waits goes round once too often.";
        case MistakeId::arrivals_missing: {
            const std::string counts = name + " counts " + std::to_string(l.arrivals) +
                                       " arrivals per phase, but only " + std::to_string(l.came) + " came";
            if (l.threads.empty())
                return counts + ": does mbarrier_init() say how many arrive" +
                       (cluster ? ", and do the threads of all blocks arrive at this block's?" : "?");
            return counts + ": " + list(l.threads) + ", which arrived in the phase before, " +
                   verb(l.threads, "has", "have") + " not in this one.";
        }
        case MistakeId::nobody_arrived: {
            std::string where;
            for (std::size_t i = 0; i < l.barriers.size(); ++i) {
                where += (i == 0 ? "" : " and ") + l.barriers[i] + " (parity " +
                         std::to_string(l.parities[i]) + ")";
            }
            return "no thread has arrived in the phase that is waited for, at " + where +
                   ": a stage is never filled or released, or a wait is for the wrong parity (one that "
                   "should "
                   "return at once the first time is for parity 1).";
        }
    }
    return {};
}

std::string text_of(const Autopsy& autopsy) {
    const auto& b = autopsy.block;
    const Names list = names_of(autopsy);
    std::string told = "kernel " + autopsy.kernel + ", ";
    if (autopsy.cluster_blocks > 1)
        told += "cluster of " + std::to_string(autopsy.cluster_blocks) + " blocks from ";
    told += "block (" + std::to_string(b[0]) + "," + std::to_string(b[1]) + "," + std::to_string(b[2]) +
            "): no thread can go on.";
    for (const Autopsy::Barrier& barrier : autopsy.barriers) told += text(barrier, list);
    for (const Autopsy::Group& g : autopsy.groups) {
        if (g.at_mbarrier && !g.last) continue;
        told += "\n  " + list(g.threads);
        if (!g.at_mbarrier) {
            told += g.at ? verb(g.threads, " waits at ", " wait at ") + text(*g.at)
                         : verb(g.threads, " has returned", " have returned");
        }
        if (g.last)
            told += std::string(g.at_mbarrier ? " last executed " : "; last executed ") + text(*g.last);
        told += ".";
    }
    if (autopsy.likely) told += "\n  Likely: " + text_of(autopsy, *autopsy.likely);
    return told;
}

namespace {

constexpr std::size_t kMostTold = 8;  // blocks

/// "4 blocks", "1 block".
std::string blocks(std::uint64_t n) {
    return count_of(n, "block");
}

std::string text(const gemm::FlagHang::Group& group) {
    const Names list;
    std::string told = list(group.threads);
    if (!group.at) return told + verb(group.threads, " has returned", " have returned");
    if (!group.spins) return told + verb(group.threads, " waits at ", " wait at ") + text(*group.at);
    told += verb(group.threads, " spins", " spin");
    for (std::size_t i = 0; i < group.flags.size(); ++i) {
        const gemm::FlagHang::Flag& flag = group.flags[i];
        told += (i == 0 ? " on " : " and ") + flag.name + ", which holds " + std::to_string(flag.value) +
                (!flag.writer.empty() ? " (block " + flag.writer + " was the last to write it)"
                 : flag.released      ? " (no block has released it)"
                                      : "") +
                ",";
    }
    return told + " at " + text(*group.at);
}

/// How many blocks the device holds at once.
std::string text_of_room(const gemm::FlagHang& h) {
    const std::uint64_t fit =
        static_cast<std::uint64_t>(h.multiprocessors) * static_cast<unsigned>(h.of_each);
    std::string told = "this device holds " + blocks(h.room) + " at once (" +
                       count_of(static_cast<std::uint64_t>(h.multiprocessors), "SM") + " with room for " +
                       std::to_string(h.of_each) + " each";
    if (h.stacks) told += ", " + std::to_string(fit) + " in all, but the CPU device has stacks for no more";
    return told + ")";
}

}  // namespace

std::string text_of(const gemm::FlagHang& h) {
    std::string told = "kernel " + h.kernel + ": no block can go on. Of " + blocks(h.grid) +
                       ", ended: " + std::to_string(h.started - h.blocks.size()) +
                       "; resident: " + std::to_string(h.blocks.size()) +
                       "; not yet started: " + std::to_string(h.grid - h.started) + ".";
    // Those of which the same is to be said, together.
    std::vector<std::pair<std::string, std::vector<const gemm::FlagHang::Block*>>> lines;
    for (const auto& b : h.blocks) {
        std::string line;
        for (std::size_t g = 0; g < b.groups.size(); ++g) line += (g == 0 ? "" : "; ") + text(b.groups[g]);
        const auto same =
            std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.first == line; });
        if (same == lines.end()) {
            lines.push_back({line, {&b}});
        } else {
            same->second.push_back(&b);
        }
    }
    std::size_t left = h.blocks.size();
    for (std::size_t i = 0; i < lines.size() && i < kMostTold; ++i) {
        const auto& [line, same] = lines[i];
        told += same.size() == 1 ? "\n  block " : "\n  blocks ";
        for (std::size_t b = 0; b < std::min<std::size_t>(same.size(), 3); ++b) {
            const auto& index = same[b]->index;
            told += std::string(b == 0 ? "" : ", ") + "(" + std::to_string(index[0]) + "," +
                    std::to_string(index[1]) + "," + std::to_string(index[2]) + ")";
        }
        if (same.size() > 3) told += " and " + std::to_string(same.size() - 3) + " more";
        told += ": " + line + ".";
        left -= same.size();
    }
    if (left > 0) told += "\n  And " + std::to_string(left) + " more that wait.";
    if (h.grid > h.started) {
        return told + "\n  Likely: they wait for blocks that have not started, such as " + h.first_missing +
               ": " + text_of_room(h) +
               ", and another one gets its turn only when one of these ends. Launch no more than are "
               "resident "
               "at once (cudaOccupancyMaxActiveBlocksPerMultiprocessor times the number of SMs), or let "
               "blocks "
               "wait only for those that have started before them: each takes its number from a counter "
               "(atomicAdd) when it starts.";
    }
    return told +
           "\n  Likely: all blocks have started, so that whoever should write these flags waits itself, or "
           "has ended without it; or the flags hold more than is waited for, or what an earlier launch left.";
}

}  // namespace cpu_device
