#include "common/cpu/trace/banks.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace cpu_device::trace {
namespace {

int distinct(std::span<Address> values) {
    std::sort(values.begin(), values.end());
    return static_cast<int>(std::unique(values.begin(), values.end()) - values.begin());
}

}  // namespace

std::uint64_t distinct_bytes(const Address* addresses, int count, int width) {
    std::array<Address, kWarp> starts;
    std::copy_n(addresses, count, starts.begin());
    const auto first = starts.begin(), last = first + count;
    if (!std::is_sorted(first, last)) std::sort(first, last);
    std::uint64_t bytes = 0;
    Address covered = 0;
    for (auto a = first; a != last; ++a) {
        const Address end = *a + static_cast<Address>(width);
        if (end > covered) bytes += end - std::max(covered, *a);
        covered = std::max(covered, end);
    }
    return bytes;
}

int sectors(const std::uint64_t* addresses, int count, int width) {
    std::array<Address, 2 * kWarp> touched;
    std::size_t n = 0;
    for (int i = 0; i < count; ++i) {
        touched[n++] = addresses[i] / 32;
        if (const Address last = (addresses[i] + static_cast<Address>(width) - 1) / 32;
            last != touched[n - 1]) {
            touched[n++] = last;
        }
    }
    return distinct(std::span(touched.data(), n));
}

// Shared memory has 32 banks of 4 bytes (CUDA C++ Programming Guide, "Shared Memory" of each compute
// capability): a wavefront reads one word of each. The rule for wider accesses was found by counting on an
// H200: an 8-byte request is served by half-warps, a 16-byte request by quarter-warps; in a half-warp, two
// quarters (of a whole warp, two halves for 8 bytes) share their wavefronts where all lanes that differ only
// in lane bit 0, or all that differ only in lane bit 1, read the same address.
int wavefronts(std::uint32_t lanes, const std::uint64_t* addresses, int width, bool store) {
    std::array<Address, kWarp> by_lane{};
    for (int lane = 0, next = 0; lane < kWarp; ++lane) {
        if (lanes >> lane & 1u) by_lane[static_cast<std::size_t>(lane)] = addresses[next++];
    }
    const auto of_lanes = [&](int first, int last) {
        std::array<Address, 4 * kWarp> words;
        std::size_t n = 0;
        for (int lane = first; lane < last; ++lane) {
            if ((lanes >> lane & 1u) == 0) continue;
            const Address a = by_lane[static_cast<std::size_t>(lane)];
            for (Address w = a / 4; w <= (a + static_cast<Address>(width) - 1) / 4; ++w) words[n++] = w;
        }
        const int count = distinct(std::span(words.data(), n));
        std::array<int, 32> in_bank{};
        for (int i = 0; i < count; ++i) ++in_bank[words[static_cast<std::size_t>(i)] % 32];
        return *std::max_element(in_bank.begin(), in_bank.end());
    };
    const auto pairs_agree = [&](int first, int last, int bit) {
        for (int lane = first; lane < last; ++lane) {
            const int other = lane ^ bit;
            if ((lanes >> lane & 1u) && (lanes >> other & 1u) &&
                by_lane[static_cast<std::size_t>(lane)] != by_lane[static_cast<std::size_t>(other)]) {
                return false;
            }
        }
        return true;
    };
    if (width <= 4) return of_lanes(0, kWarp);
    const int group = width <= 8 ? 16 : 8;  // lanes served together
    int total = 0;
    for (int first = 0; first < kWarp; first += 2 * group) {
        const bool together =
            !store && (pairs_agree(first, first + 2 * group, 1) || pairs_agree(first, first + 2 * group, 2));
        total += together ? of_lanes(first, first + 2 * group)
                          : of_lanes(first, first + group) + of_lanes(first + group, first + 2 * group);
    }
    return total;
}

std::uint64_t least_wavefronts(std::uint32_t lanes, std::uint64_t bytes, int width) {
    const std::uint64_t halves = ((lanes & 0xffffu) != 0) + (lanes >> 16 != 0);
    return std::max((bytes + 127) / 128, width == 16 ? halves : 1);
}

void CopyPasses::reads(std::uint32_t mask, const Address* addresses) {
    for (int lane = 0, next = 0; lane < kWarp; ++lane) {
        if (mask >> lane & 1u) from_[static_cast<std::size_t>(lane)] = addresses[next++];
    }
    lanes_ |= mask;
}

// What a warp copies leaves L1 by its 32 banks, of global memory's words as of shared memory's: words that
// share a bank leave in different wavefronts, and each is stored by itself. Lanes that fill with zeros go
// with the first. Found by counting on an H200, and equal there for copies of 4 bytes at all pitches and of
// 16 bytes in rows.
int CopyPasses::wavefronts(std::uint32_t mask, const Address* addresses, int width) {
    std::array<std::vector<Address>, 32> banks;  // the words that leave it, in the order of their wavefronts
    std::vector<std::uint32_t> leaving(1);       // lanes
    for (int lane = 0; lane < kWarp; ++lane) {
        if ((mask >> lane & 1u) == 0) continue;
        std::size_t wavefront = 0;
        if (lanes_ >> lane & 1u) {
            const Address first = from_[static_cast<std::size_t>(lane)] / 4;
            for (Address word = first; word < first + static_cast<Address>(width) / 4; ++word) {
                auto& bank = banks[word % banks.size()];
                const auto at = std::find(bank.begin(), bank.end(), word);
                wavefront = std::max(wavefront, static_cast<std::size_t>(at - bank.begin()));
                if (at == bank.end()) bank.push_back(word);
            }
        }
        leaving.resize(std::max(leaving.size(), wavefront + 1));
        leaving[wavefront] |= 1u << lane;
    }
    lanes_ = 0;
    int sum = 0;
    for (const std::uint32_t lanes : leaving) {
        std::array<Address, kWarp> part;
        std::size_t count = 0;
        for (int lane = 0, next = 0; lane < kWarp; ++lane) {
            if ((mask >> lane & 1u) == 0) continue;
            if (lanes >> lane & 1u) part[count++] = addresses[next];
            ++next;
        }
        if (lanes != 0) sum += trace::wavefronts(lanes, part.data(), width, true);
    }
    return sum;
}

}  // namespace cpu_device::trace
