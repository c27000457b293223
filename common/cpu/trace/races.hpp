// Shared memory, word by word: who touched it last, and what was written. Finds races between barriers, reads
// of what nothing wrote, copies that nobody waited for, and accesses past the end of an array.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/bounds.hpp"
#include "common/cpu/trace/clocks.hpp"
#include "common/cpu/trace/findings.hpp"
#include "common/cpu/trace/order.hpp"

namespace cpu_device::trace {

class Races {
  public:
    explicit Races(Findings& findings) : findings_(findings) {}
    /// `bounds`: of the blocks that begin. pitch: from the first thread of a block to that of the next.
    void begin_blocks(int threads, int pitch, int blocks, const Bounds& bounds);
    /// Whose threads run, and whose arrays are where the kernel has them: first_ follows.
    void block_runs(unsigned rank) { running_ = rank; }
    void block_live(unsigned rank, const Bounds& bounds);
    void block_left(unsigned rank);

    /// An access that starts in shared array `access.array`.
    void access(const Access& access, bool atomic, int thread);

    /// What the accesses of one instruction to a shared array have in common, for quiet().
    struct Instruction {
        std::uint32_t first_word = 0;  // the array's
        std::uint64_t what = 0;        // of its touchers; 0: of no shared array
    };
    Instruction instruction(std::size_t array, std::uint32_t site) {
        return {first_[array], Toucher::site_bits(number_of(site))};
    }
    /// The same as access() where it is aligned and lies wholly in the array, and nothing needs a closer
    /// look; false where it does, and then nothing has been done.
    bool quiet(const Instruction& instruction, Address offset, int width, bool store, unsigned thread) {
        const std::size_t begin = instruction.first_word + offset / 4;
        const std::size_t end = width <= 4 ? begin + 1 : begin + static_cast<std::size_t>(width) / 4;
        for (std::size_t i = begin; i < end; ++i) {
            if (store ? !quiet_write(i, thread) : !quiet_read(i, thread)) return false;
        }
        const unsigned bytes = width < 4 ? ((1u << width) - 1) << offset % 4 : kWhole;
        const Toucher mine{now_ | instruction.what | Toucher::bytes_bits(bytes) | thread};
        for (std::size_t i = begin; i < end; ++i) {
            if (store) {
                write(i, mine, bytes);
            } else {
                make_room(words_[i], mine);
                words_[i].reader = mine;
            }
        }
        return true;
    }

    void copy_begins(std::size_t array, Address address, int bytes, std::uint32_t site);
    void copy_ends(std::size_t array, Address address, int bytes);

    void warp_met(int first, unsigned lanes);
    void barrier_met() {
        ++barriers_;
        if (blocks_ > 1) return block_met();
        epoch_ = next_moment();
        since_begin_ = epoch_ - begin_;
        if (clocks_.on()) clocks_.all_met(Toucher{epoch_}.moment());
    }

    // ---- races_bulk.cpp ----
    void at_mbarrier(Observer::AtMbarrier what, const void* mbarrier, std::uint32_t site, unsigned thread);
    void at_cluster_barrier(Observer::AtCluster what, unsigned thread);
    void some_met(const std::vector<int>& threads);
    void mbarriers_fenced(unsigned thread);
    void proxy_fenced(unsigned thread);
    void bulk_begins(const BulkCopy& copy, std::uint32_t site, unsigned thread);
    void bulk_copies_read(std::uint64_t group, unsigned thread);
    void wgmma_begins(const std::vector<const void*>& places, std::uint32_t site, int warpgroup,
                      std::uint64_t batch, unsigned thread);
    void wgmma_waited(int warpgroup, std::uint64_t batch, unsigned thread);

    // ---- of what happens between blocks (order.hpp) ----
    std::uint32_t now() const { return stamp(); }
    /// Clocks are kept from here on.
    void use_clocks();
    /// Whether the thread knows of what the other has done with that stamp. While clocks are kept.
    bool ordered(unsigned thread, unsigned other, Clocks::Stamp stamp) const;
    /// All that the thread knows of its cluster; what it does from here on has a later stamp.
    Known known(unsigned thread);

    /// That the block has passed.
    std::uint64_t barriers() const { return barriers_; }

  private:
    static constexpr unsigned kWhole = 0xf;  // the bytes of a word

    /// Who touched a word last, where and when: one register, which is larger the later it was.
    struct Toucher {
        // From the lowest bit on: thread of its cluster; bytes of the word; whether atomic; number of the
        // site; moment. All 0: never.
        static constexpr int kBytesAt = 13, kAtomicAt = 17, kSiteAt = 18, kMomentAt = 34;
        static constexpr std::uint64_t kThread = (1u << kBytesAt) - 1;
        static constexpr std::uint64_t kWarpOf = kThread & ~std::uint64_t{kWarp - 1};
        static constexpr std::uint64_t kMostSites = std::uint64_t{1} << (kMomentAt - kSiteAt);
        static constexpr std::uint64_t kMostMoments = std::uint64_t{1} << (64 - kMomentAt);
        static std::uint64_t thread_bits(int thread) { return static_cast<std::uint64_t>(thread); }
        static std::uint64_t atomic_bits(bool atomic) { return std::uint64_t{atomic} << kAtomicAt; }
        static std::uint64_t bytes_bits(unsigned bytes) { return std::uint64_t{bytes} << kBytesAt; }
        static std::uint64_t site_bits(std::uint64_t number) { return number << kSiteAt; }

        std::uint64_t bits = 0;
        unsigned thread() const { return static_cast<unsigned>(bits & kThread); }
        unsigned bytes() const { return bits >> kBytesAt & kWhole; }
        bool atomic() const { return (bits >> kAtomicAt & 1u) != 0; }
        std::uint32_t moment() const { return static_cast<std::uint32_t>(bits >> kMomentAt); }
        std::size_t site() const { return bits >> kSiteAt & (kMostSites - 1); }
    };
    static constexpr std::uint64_t kNever = ~std::uint64_t{0};
    struct alignas(32) Word {
        // When it was written last, as its writer's bits, if all of it has been written and no copy to it is
        // in flight; else kNever.
        std::uint64_t complete = kNever;
        // The last reader, the last of another lane of its warp, the last of another warp: whoever writes
        // without a barrier races with one of them if with anyone.
        Toucher reader, other_lane, other_warp;
    };

    /// A moment begins wherever threads meet, at a barrier or in a warp. They go on from block to block, so
    /// that old touchers are old, and are kept where a toucher has them, the other bits 0.
    std::uint64_t next_moment() { return now_ += std::uint64_t{1} << Toucher::kMomentAt; }
    bool since_barrier(const Toucher& t) const { return t.bits >= epoch_; }

    /// Nobody has written the word since the last barrier, and all of it before, in this block; or no thread
    /// has, and the copy engine has, which the thread knows.
    bool quiet_read(std::size_t i, unsigned thread) const {
        return words_[i].complete - begin_ < since_begin_ ||
               (state_[i] == (kWhole | kWhole << 4) && copy_[i] == kLook && !since_barrier(writers_[i]) &&
                (bulk_words_[i].load == 0 ||
                 clocks_.knows(thread, bulk_copies_[bulk_words_[i].load - 1].end)));
    }
    /// Nobody else has touched the word since the last barrier. (Where `reader` is older, so are the other
    /// two.)
    bool quiet_write(std::size_t i, unsigned thread) const {
        return state_[i] <= kWhole && (!since_barrier(writers_[i]) || writers_[i].thread() == thread) &&
               !since_barrier(words_[i].reader);
    }
    void write(std::size_t i, const Toucher& mine, unsigned bytes) {
        writers_[i] = mine;
        change_state(i, static_cast<std::uint8_t>(state_[i] | bytes));
    }
    void change_state(std::size_t i, std::uint8_t state) {
        state_[i] = state;
        // (What the copy engine has written has no writer.)
        words_[i].complete = state == kWhole ? std::max(writers_[i].bits, begin_) : kNever;
    }
    /// For another reader: the one before moves, unless it is this thread's own.
    void make_room(Word& word, const Toucher& mine) {
        const std::uint64_t differ = word.reader.bits ^ mine.bits;
        if (!since_barrier(word.reader) || (differ & Toucher::kThread) == 0) return;
        ((differ & Toucher::kWarpOf) == 0 ? word.other_lane : word.other_warp) = word.reader;
    }
    std::uint64_t number_of(std::uint32_t site);
    std::uint32_t site_of(const Toucher& t) const { return sites_[t.site()]; }
    void word(std::size_t array, std::size_t i, const Toucher& mine, bool store);
    bool concurrent(const Toucher& before, const Toucher& now) const;
    void race(const Array& a, Address offset, const Toucher& before, const Toucher& now, bool wrote,
              bool writes);
    /// A thread's access to a shared array.
    Finding by(unsigned thread, bool store, const Array& a, Address offset) const;
    void unwritten(const Array& a, Address offset, const Toucher& now);
    void in_flight(const Array& a, Address offset, std::uint32_t copy, const Toucher& now, bool store);

    // ---- races_bulk.cpp ----
    /// A copy of the copy engine, or a wgmma, which reads as a store does, and what has come to pass when it
    /// is over.
    struct Bulk {
        std::uint32_t site;
        unsigned thread;  // that started it
        Clocks::End end;
        bool wgmma = false;
        gemm::FindingId in_flight() const {
            return wgmma ? gemm::FindingId::wgmma_in_flight : gemm::FindingId::store_in_flight;
        }
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
    /// Who has begun an mbarrier, where and when; and when it was fenced for the copy engine, if it was.
    struct Begun {
        std::uint32_t site = 0;
        unsigned thread = 0;
        Clocks::Stamp at = 0;
        std::optional<Clocks::Stamp> fenced{};
        bool told = false;  // what is wrong: once is enough
    };
    void block_met();
    /// An mbarrier of the block that is live, of which all blocks may have one at the same address.
    const void* key(const void* mbarrier) const {
        return reinterpret_cast<const void*>(address_of(mbarrier) | Address{live_} << 48);
    }
    void touch(const Array& a, Address offset, std::uint32_t site, unsigned thread,
               std::optional<Clocks::End> end);
    bool behind(unsigned thread, unsigned other, Clocks::Stamp stamp) const;
    Begun* uses(const void* mbarrier, std::uint32_t site, unsigned thread);
    void signals(const void* mbarrier, std::uint32_t site, unsigned thread);
    void begun_finding(gemm::FindingId id, Begun& begun, const void* mbarrier, std::uint32_t site,
                       unsigned thread);
    std::uint32_t stamp() const { return Toucher{now_}.moment(); }
    std::uint32_t next_stamp() { return Toucher{next_moment()}.moment(); }
    bool unfenced(const Toucher& writer, unsigned thread) const;
    Toucher toucher(std::uint32_t site, unsigned thread, unsigned bytes) {
        return {now_ | Toucher::site_bits(number_of(site)) | Toucher::bytes_bits(bytes) | thread};
    }
    void bulk_moves(const void* shared, unsigned from, unsigned to, bool load);
    void bulk_load(const Place& place);
    void bulk_store(const Place& place);
    void bulk_touched(const Array& a, Address offset, std::size_t i, const Toucher& now, bool store);
    template <class Make>
    void bulk_finding(gemm::FindingId id, std::uint32_t other, const Place& place, bool writes, Make make);

    /// The last time that a thread has reached into another block, and what is known to who knows that it is
    /// over: all that the thread did before the stamp, or a count.
    struct Touch {
        std::uint32_t site = 0;
        const Array* array = nullptr;
        Address offset = 0;
        Clocks::Stamp at = 0;
        std::optional<Clocks::End> end{};
    };

    Clocks clocks_;
    // When each thread has arrived at the cluster's barrier last, and at those of its last two phases: a
    // third cannot be complete before who has passed the first arrives again. How many phases each thread has
    // passed.
    std::vector<Clocks::Stamp> arriving_, met_at_[2];
    std::vector<std::uint32_t> passed_;
    std::uint32_t cluster_phases_ = 0;
    std::size_t threads_ = 0;
    unsigned blocks_ = 1, pitch_ = 0, running_ = 0, live_ = 0;
    int block_threads_ = 0;
    std::vector<std::unordered_map<unsigned, Touch>> touches_;  // of each block, by thread and kind
    std::vector<Bulk> bulk_copies_;
    std::vector<BulkWord> bulk_words_;
    std::unordered_map<const void*, Begun> begun_;  // the block's mbarriers

    Findings& findings_;
    const std::vector<Array>* shared_ = nullptr;
    std::vector<std::uint32_t> first_;            // word of each array, in the order of *shared_
    std::size_t own_arrays_ = 0, own_words_ = 0;  // of a block
    std::vector<std::uint32_t> offsets_;          // first word of each of its arrays, from its own first
    std::vector<Word> words_;
    std::vector<Toucher> writers_;     // of each word, the last
    std::vector<std::uint8_t> state_;  // of each word: bytes written in this block, and << 4 bytes that a
                                       // cp.async nobody has waited for will write
    std::vector<std::uint32_t> copy_;  // its place
    // This moment, that in which the block began, that of the last barrier, and how far this is behind that.
    std::uint64_t now_ = 0, begin_ = 0, epoch_ = 0, since_begin_ = 0;
    std::uint64_t barriers_ = 0;
    std::vector<std::uint32_t> sites_{0};  // by number, from 1 on
    std::unordered_map<std::uint32_t, std::uint64_t> numbers_;
    std::uint32_t last_site_ = 0;  // whose number was asked for, and which it is
    std::uint64_t last_number_ = 0;
    /// Of each warp, when two lanes last met, as the moment that began then; empty until lanes of the block
    /// meet.
    std::vector<std::array<std::array<std::uint64_t, kWarp>, kWarp>> meetings_;
    std::size_t warps_ = 0;
};

}  // namespace cpu_device::trace
