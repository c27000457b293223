// TMA: the copies between global and shared memory that the threads of a block have started, and how far each
// has come.
//
// A copy moves in pieces, in an order that a seed decides. The destination of a load is garbage from the
// moment it starts; a store reads shared memory piece by piece at some time between its start and the wait
// for its group.
//
// The engine reaches shared memory by a way of its own (the async proxy). What threads have written and not
// passed fence.proxy.async it may see or not: there is a second image of shared memory, as the engine last
// knew it, and a store takes each piece from one of the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/ptx/tensor_map.hpp"

namespace cpu_device {

/// Numbers that a seed decides (Vigna, splitmix64).
class Dice {
  public:
    explicit Dice(std::uint64_t seed = 0) : state_(seed) {}
    std::uint64_t roll() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    /// 0 … n - 1.
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(roll() % n); }

  private:
    std::uint64_t state_;
};

class Block;

struct BulkCopy {
    const void* caller = nullptr;  // return address into the kernel
    Site site{};
    int thread = 0;
    const Block* by = nullptr;  // whose thread that is
    bool load = false;
    void* mbarrier = nullptr;  // of a load
    TensorMap map{};           // its types and fill
    std::vector<Chunk> chunks{};

    std::uint32_t start = 0, step = 1,
                  done = 0;          // pieces: which comes first, by how many to the next, how many have
    std::uint64_t come = 0;          // bytes of a load
    std::uint64_t group = 0;         // of a store: counted by thread
    bool waited = false;             // for its reading
    std::vector<std::byte> taken{};  // of a store: what it has read, chunk by chunk

    static constexpr std::size_t kPiece = 8;  // chunks
    std::size_t pieces() const { return (chunks.size() + kPiece - 1) / kPiece; }
    bool moved() const { return done == pieces(); }
    std::uint64_t bytes() const { return chunks.size() * kChunk; }
};

class BulkCopies {
  public:
    void begin_block(const Grid& grid, std::byte* dynamic_shared, std::size_t threads);

    /// Of shared memory: all of these bytes lie in one array of the block.
    bool in_shared(const void* address, std::size_t bytes) const;
    /// What a descriptor calls an address in shared memory: arrays lie one behind the other, each with the
    /// lowest 10 bits of its address, which is what swizzling and alignment look at.
    unsigned number_of(const void* shared) const;
    /// The same for an address that may lie up to kNear bytes outside of its array; nothing where it is no
    /// array's. And where a number's byte is or would be; null where the block has no shared memory.
    static constexpr int kNear = 32768;
    std::optional<unsigned> number_near(const void* generic) const;
    std::byte* pointer_near(unsigned number) const;
    /// Where 16 bytes of shared memory with that number are; null where no array has them all.
    std::byte* of_number(unsigned number) const;
    /// And what they are, as the engine sees them; false where there are none.
    bool fetch(unsigned number, void* sixteen, Dice& dice);
    /// The engine sees what threads have written so far.
    void fence();

    void start_load(BulkCopy copy, Dice& dice);
    void start_store(BulkCopy copy, Dice& dice);
    /// That the thread's stores belong to from here on.
    std::uint64_t open_group(int thread) const { return groups_[static_cast<std::size_t>(thread)]; }
    void commit(int thread) { ++groups_[static_cast<std::size_t>(thread)]; }
    /// Of the thread's stores but for the newest groups: reads the rest, and writes too unless only `read`.
    /// Returns the first group that it has not waited for.
    std::uint64_t wait(int thread, int pending, bool read, Dice& dice);

    struct Piece {
        void* mbarrier;
        std::uint64_t bytes;
        const BulkCopy* copy;
    };
    bool loads_under_way() const { return !loads_.empty(); }
    /// A piece of some load comes. The copy is there until the next call.
    Piece bring(Dice& dice);
    /// Bytes on their way to the mbarrier, and one of the copies that bring them (null if none do).
    std::uint64_t to_come(const void* mbarrier, const BulkCopy*& one) const;

    /// When all threads have returned: a copy that none of them has waited for; else null, and all is
    /// written.
    const BulkCopy* left_behind();

  private:
    /// An array of shared memory, and where its second image begins.
    struct Image {
        std::byte* start;
        std::size_t bytes, offset;
        unsigned number;
    };
    /// As a GPU has it, the lowest bits of a generic address: there are sources that take them without
    /// __cvta_generic_to_shared(). Where two arrays would have the same, all keep the numbers they have.
    void number_by_address();
    std::byte* image(std::byte* shared);
    void use_images();
    void shuffle(BulkCopy& copy, Dice& dice) const;
    void load_piece(BulkCopy& copy);
    void store_piece(BulkCopy& copy, Dice& dice);
    static void write(const BulkCopy& copy);

    std::vector<Image> arrays_;
    std::vector<std::byte> images_;  // one behind the other
    bool images_used_ = false;
    std::deque<BulkCopy> loads_, stores_;  // that have not come to their end
    BulkCopy last_;
    std::vector<std::uint64_t> groups_;  // of each thread, that it has committed
};

}  // namespace cpu_device
