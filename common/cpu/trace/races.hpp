// Shared memory, word by word: who touched it last, and what was written. Finds races between barriers, reads
// of what nothing wrote, copies that nobody waited for, and accesses past the end of an array.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/findings.hpp"

namespace cpu_device::trace {

class Races {
  public:
    explicit Races(Findings& findings) : findings_(findings) {}
    /// `shared`: the block's arrays, which stay.
    void begin_block(int threads, const std::vector<Array>& shared);

    /// An access that starts in shared array `access.array`.
    void access(const Access& access, bool atomic, int thread);
    /// The same where the access is aligned and lies wholly in the array, whose first word is `first`.
    void aligned(std::uint32_t first, std::uint32_t site, Address offset, int width, bool store, int thread) {
        if (width < 4) return words(array_of(first), first, site, offset, width, store, false, thread);
        const std::size_t begin = first + offset / 4;
        const Toucher mine = toucher(site, thread, kWhole, false);
        for (std::size_t i = begin; i < begin + static_cast<std::size_t>(width) / 4; ++i) {
            Word& word = words_[i];
            if (store ? !quiet_write(i, thread) : !quiet_read(i)) {
                one_word(array_of(first), first, i, mine, store);
            } else if (store) {
                word.writer = mine;
                state_[i] |= kWhole;
            } else {
                make_room(word, thread);
                word.reader = mine;
            }
        }
    }
    /// Of a shared array's index.
    std::uint32_t first_word(std::size_t array) const { return first_[array]; }

    void copy_begins(std::size_t array, Address address, int bytes, std::uint32_t site);
    void copy_ends(std::size_t array, Address address, int bytes);

    void warp_met(int first, unsigned lanes);
    void barrier_met() {
        ++epoch_;
        ++barriers_;
    }
    /// That the block has passed.
    std::uint64_t barriers() const { return barriers_; }

  private:
    static constexpr std::uint8_t kWhole = 0xf;  // the bytes of a word

    /// Who touched a word last.
    struct Toucher {
        std::uint32_t site = 0;
        std::uint32_t epoch = 0;       // barriers passed, by all blocks so far; 0: never
        std::uint32_t warp_epoch = 0;  // meetings of its warp
        std::uint16_t thread = 0;
        std::uint8_t bytes = 0;  // of the word
        bool atomic = false;
    };
    struct alignas(64) Word {
        // The last reader, the last of another lane of its warp, the last of another warp: whoever writes
        // without a barrier races with one of them if with anyone.
        Toucher writer, reader, other_lane, other_warp;
    };

    Toucher toucher(std::uint32_t site, int thread, std::uint8_t bytes, bool atomic) const {
        return {site,
                epoch_,
                warp_epochs_[static_cast<std::size_t>(thread / kWarp)],
                static_cast<std::uint16_t>(thread),
                bytes,
                atomic};
    }
    /// Nobody has written the word since the last barrier, and all of it before.
    bool quiet_read(std::size_t i) const { return state_[i] == kWhole && words_[i].writer.epoch != epoch_; }
    /// Nobody has touched the word since the last barrier. (Where `reader` is older, so are the other two.)
    bool quiet_write(std::size_t i, int thread) const {
        const Word& word = words_[i];
        return state_[i] <= kWhole && (word.writer.epoch != epoch_ || word.writer.thread == thread) &&
               (word.reader.epoch != epoch_);
    }
    /// For another reader: the one before moves, unless it is this thread's own.
    void make_room(Word& word, int thread) {
        if (word.reader.epoch == epoch_ && word.reader.thread != thread) {
            (word.reader.thread / kWarp == thread / kWarp ? word.other_lane : word.other_warp) = word.reader;
        }
    }
    std::size_t array_of(std::uint32_t first) const;
    void words(std::size_t array, std::uint32_t first, std::uint32_t site, Address offset, int width,
               bool store, bool atomic, int thread);
    void one_word(std::size_t array, std::uint32_t first, std::size_t i, const Toucher& mine, bool store);
    bool concurrent(const Toucher& before, const Toucher& now) const;
    void race(const Array& a, Address offset, const Toucher& before, const Toucher& now, bool wrote,
              bool writes);
    void unwritten(const Array& a, Address offset, const Toucher& now);
    void in_flight(const Array& a, Address offset, std::uint32_t copy, const Toucher& now, bool store);

    Findings& findings_;
    const std::vector<Array>* shared_ = nullptr;
    std::vector<std::uint32_t> first_;  // word of each array
    std::vector<Word> words_;
    std::vector<std::uint8_t> state_;  // of each word: bytes written in this block, and << 4 bytes that a
                                       // cp.async nobody has waited for will write
    std::vector<std::uint32_t> copy_;  // its place
    std::uint32_t epoch_ = 0;          // goes on from block to block, so that old touchers are old
    std::uint64_t barriers_ = 0;
    std::vector<std::uint32_t> warp_epochs_;
    /// Of each warp, when two lanes last met, as its epoch then; empty until lanes of the block meet.
    std::vector<std::array<std::array<std::uint32_t, kWarp>, kWarp>> meetings_;
};

}  // namespace cpu_device::trace
