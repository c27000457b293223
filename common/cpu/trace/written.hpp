// Which elements of a matrix have been written since the trace began, and by whom last. What has been written
// may be read whatever C held before, and two blocks of a launch have no business with the same element.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/findings.hpp"

namespace cpu_device::trace {

/// Of one matrix; all workers use it.
class Written {
  public:
    /// Of an element, 0 where nobody has written it.
    using Mark = std::uint32_t;
    static Mark mark(std::uint64_t launch, std::uint64_t block, bool atomic) {
        return static_cast<Mark>(launch % kLaunches + 1) << 24 | static_cast<Mark>(atomic) << 23 |
               static_cast<Mark>(block % kBlocks);
    }
    /// Put before the element is written; what is there until it is settled may be older than the mark.
    static Mark begun(Mark m) { return m | kBegun; }
    static bool is_begun(Mark m) { return (m & kBegun) != 0; }
    static bool same_launch(Mark a, Mark b) { return a >> 24 == b >> 24; }
    static bool atomic(Mark m) { return (m >> 23 & 1u) != 0; }
    static std::uint64_t block(Mark m) { return m % kBlocks; }

    explicit Written(const Matrix& matrix);
    Written(const Written&) = delete;
    Written& operator=(const Written&) = delete;
    ~Written();

    /// Puts `mark` at the elements that begin or go on in these bytes, counted from the matrix's start, and
    /// returns the first mark that was there and that `other` says true of; 0 for none. What misses the
    /// matrix is left out.
    template <class Other>
    Mark put(Address offset, Address width, Mark mark, Other other) {
        Mark found = 0;
        each(offset, width, [&](Mark& element) {
            const Mark before = __atomic_exchange_n(&element, mark, __ATOMIC_ACQUIRE);
            if (found == 0 && before != 0 && other(before)) found = before;
        });
        return found;
    }
    /// The marks that were put there as begun, where they still are, are settled.
    void settle(Address offset, Address width, Mark mark) {
        each(offset, width, [&](Mark& element) {
            Mark begun_mark = begun(mark);
            __atomic_compare_exchange_n(&element, &begun_mark, mark, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED);
        });
    }
    /// Whether all of them have been written.
    bool all(Address offset, Address width) {
        bool written = true;
        each(offset, width,
             [&](Mark& element) { written &= __atomic_load_n(&element, __ATOMIC_RELAXED) != 0; });
        return written;
    }

  private:
    static constexpr std::uint64_t kLaunches = 255, kBlocks = std::uint64_t{1} << 22;
    static constexpr Mark kBegun = Mark{1} << 22;

    template <class Body>
    void each(Address offset, Address width, Body body) {
        const Address first = offset / size_, last = (offset + width - 1) / size_;
        Address row = first / pitch_, col = first % pitch_;
        for (Address e = first; e <= last && row < rows_; ++e) {
            if (col < cols_) body(marks_[row * cols_ + col]);
            if (++col < pitch_) continue;
            col = 0;
            ++row;
        }
    }

    Address rows_, cols_, pitch_, size_;  // in elements; bytes of an element
    Mark* marks_;                         // without padding
};

/// What a block has written where another block of the launch had, while the block runs.
class Overwrites {
  public:
    explicit Overwrites(Findings& findings) : findings_(findings) {}
    void begin_blocks(const BlockView& first);
    void block_runs(std::uint64_t block) { block_ = block; }
    /// The thread is about to store to the matrix. in_order: with what another block has stored there.
    void store(const Array& a, const Access& access, bool atomic, int thread, bool in_order = false);
    /// Notes a finding for each pair of blocks of which the order decides what is left. What both write alike
    /// is none: tiles may overlap.
    void end_block();

  private:
    struct Overwrite {
        const Array* array;
        Access access;
        int thread;
        std::uint64_t block;  // that was there before
        std::array<std::byte, 16> before;
    };
    static constexpr std::size_t kMost = std::size_t{1} << 16;

    /// The store before has been made: a worker makes one after the other.
    void settle();

    Findings& findings_;
    std::uint64_t block_ = 0;
    std::vector<Overwrite> overwrites_;
    Written* written_ = nullptr;  // by the last store
    Address offset_ = 0, width_ = 0;
    Written::Mark mark_ = 0;
};

}  // namespace cpu_device::trace
