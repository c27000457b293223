// Shared memory, word by word: who touched it last, and what was written. Finds races between barriers, reads
// of what nothing wrote, copies that nobody waited for, and accesses past the end of an array.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/clocks.hpp"
#include "common/cpu/trace/findings.hpp"

namespace cpu_device::trace {

class Races {
  public:
    explicit Races(Findings& findings) : findings_(findings) {}
    /// `shared`: the block's arrays, which stay.
    void begin_block(int threads, const std::vector<Array>& shared);

    /// An access that starts in shared array `access.array`.
    void access(const Access& access, bool atomic, int thread);
    /// The same where the access is aligned and lies wholly in the array, whose first word is `first`, and
    /// nothing needs a closer look; false where it does, and then nothing has been done.
    bool quiet(std::uint32_t first, std::uint32_t site, Address offset, int width, bool store,
               unsigned thread) {
        const std::size_t begin = first + offset / 4;
        const std::size_t end = width <= 4 ? begin + 1 : begin + static_cast<std::size_t>(width) / 4;
        for (std::size_t i = begin; i < end; ++i) {
            if (store ? !quiet_write(i, thread) : !quiet_read(i)) return false;
        }
        const unsigned bytes = width < 4 ? ((1u << width) - 1) << offset % 4 : kWhole;
        const Toucher mine = toucher(site, thread, bytes, false);
        for (std::size_t i = begin; i < end; ++i) {
            Word& word = words_[i];
            if (store) {
                word.writer = mine;
                state_[i] |= static_cast<std::uint8_t>(bytes);
            } else {
                make_room(word, thread);
                word.reader = mine;
            }
        }
        return true;
    }
    /// Of a shared array's index.
    std::uint32_t first_word(std::size_t array) const { return first_[array]; }

    void copy_begins(std::size_t array, Address address, int bytes, std::uint32_t site);
    void copy_ends(std::size_t array, Address address, int bytes);

    void warp_met(int first, unsigned lanes);
    void barrier_met() {
        ++epoch_;
        ++barriers_;
        if (clocks_.on()) clocks_.all_met(warp_epochs_);
    }

    // ---- races_bulk.cpp ----
    void at_mbarrier(Observer::AtMbarrier what, const void* mbarrier, unsigned thread);
    void proxy_fenced(unsigned thread);
    void bulk_begins(const BulkCopy& copy, std::uint32_t site);
    void bulk_copies_read(std::uint64_t group, unsigned thread);

    /// That the block has passed.
    std::uint64_t barriers() const { return barriers_; }

  private:
    static constexpr unsigned kWhole = 0xf;  // the bytes of a word

    /// Who touched a word last: two registers.
    struct Toucher {
        std::uint64_t what =
            0;  // site; from bit 32 the epoch: barriers passed, by all blocks so far; 0: never
        std::uint64_t who = 0;  // meetings of its warp; from bit 32 the thread, from 48 the bytes of the
                                // word, from 56 whether atomic
        std::uint32_t site() const { return static_cast<std::uint32_t>(what); }
        std::uint32_t epoch() const { return static_cast<std::uint32_t>(what >> 32); }
        std::uint32_t warp_epoch() const { return static_cast<std::uint32_t>(who); }
        unsigned thread() const { return who >> 32 & 0xffff; }
        unsigned bytes() const { return who >> 48 & 0xff; }
        bool atomic() const { return who >> 56 != 0; }
    };
    struct alignas(64) Word {
        // The last reader, the last of another lane of its warp, the last of another warp: whoever writes
        // without a barrier races with one of them if with anyone.
        Toucher writer, reader, other_lane, other_warp;
    };

    Toucher toucher(std::uint32_t site, unsigned thread, unsigned bytes, bool atomic) const {
        return {std::uint64_t{site} | std::uint64_t{epoch_} << 32,
                std::uint64_t{warp_epochs_[thread / kWarp]} | std::uint64_t{thread} << 32 |
                    std::uint64_t{bytes} << 48 | std::uint64_t{atomic} << 56};
    }
    /// Nobody has written the word since the last barrier, and all of it before.
    bool quiet_read(std::size_t i) const { return state_[i] == kWhole && words_[i].writer.epoch() != epoch_; }
    /// Nobody else has touched the word since the last barrier. (Where `reader` is older, so are the other
    /// two.)
    bool quiet_write(std::size_t i, unsigned thread) const {
        const Word& word = words_[i];
        return state_[i] <= kWhole && (word.writer.epoch() != epoch_ || word.writer.thread() == thread) &&
               word.reader.epoch() != epoch_;
    }
    /// For another reader: the one before moves, unless it is this thread's own.
    void make_room(Word& word, unsigned thread) {
        const unsigned before = word.reader.thread();
        if (word.reader.epoch() != epoch_ || before == thread) return;
        (before / kWarp == thread / kWarp ? word.other_lane : word.other_warp) = word.reader;
    }
    void word(std::size_t array, std::size_t i, const Toucher& mine, bool store);
    bool concurrent(const Toucher& before, const Toucher& now) const;
    void race(const Array& a, Address offset, const Toucher& before, const Toucher& now, bool wrote,
              bool writes);
    /// A thread's access to a shared array.
    Finding by(int thread, bool store, const Array& a, Address offset) const;
    void unwritten(const Array& a, Address offset, const Toucher& now);
    void in_flight(const Array& a, Address offset, std::uint32_t copy, const Toucher& now, bool store);

    // ---- races_bulk.cpp ----
    /// A copy of the copy engine, and what has come to pass when it is over.
    struct Bulk {
        std::uint32_t site;
        unsigned thread;  // that started it
        Clocks::End end;
    };
    /// The last load that writes the word and the last store that reads it, counted from 1; 0: none.
    struct BulkWord {
        std::uint32_t load = 0, store = 0;
    };
    static constexpr std::uint32_t kLook = ~0u;  // in copy_: in bulk_words_
    /// Part of a word that a copy moves.
    struct Place {
        const Array& array;
        Address offset;
        std::size_t word;
        unsigned bytes;
    };
    void use_clocks();
    std::uint32_t next_stamp(unsigned thread);
    bool unfenced(const Toucher& writer, unsigned thread) const;
    void bulk_load(const Place& place);
    void bulk_store(const Place& place);
    void bulk_touched(const Array& a, Address offset, std::size_t i, const Toucher& now, bool store);
    template <class Make>
    void bulk_finding(gemm::FindingId id, std::uint32_t other, const Place& place, bool writes, Make make);

    Clocks clocks_;
    std::size_t threads_ = 0;
    std::uint32_t first_epoch_ = 0;  // of the block
    std::vector<Bulk> bulk_copies_;
    std::vector<BulkWord> bulk_words_;

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
