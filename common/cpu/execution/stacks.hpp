// Stacks for fibers, with a guard page below each, or guard pages around all of them.
#pragma once

#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace cpu_device {

constexpr std::size_t kStackBytes = 64 * 1024;
/// Of a thread that needs more.
std::string stack_overflow_text();

/// The stacks of a block's threads, in one reservation that stays for as long as it does: a free list hands
/// out the most recently used (its cache lines are warm).
///
/// A guard page below each stack makes two mappings of it, and Linux gives a process 65,530. Of blocks that
/// are resident side by side only the first one's stacks are guarded so. Those of the others are one mapping,
/// with a guard page at its lower end, and what lies between two stacks are zeros that nobody writes:
/// intact() looks at them.
class StackPool {
  public:
    StackPool(std::size_t stacks, bool guarded);
    StackPool(const StackPool&) = delete;
    StackPool& operator=(const StackPool&) = delete;
    ~StackPool();

    boost::context::stack_context allocate();
    void deallocate(boost::context::stack_context& stack);

    const std::byte* begin() const { return reinterpret_cast<const std::byte*>(base_); }
    const std::byte* end() const;
    bool is_guard(const void* address) const;
    /// Whether the stack that begins there has been kept to, as far as that shows.
    bool intact(const void* bottom) const;
    std::size_t size() const { return stacks_; }

  private:
    const std::size_t stacks_;
    const bool guarded_;
    char* base_;
    std::vector<char*> free_;
};

struct StackAllocator {  // Boost.Context copies its allocator
    StackPool* pool;
    boost::context::stack_context allocate() { return pool->allocate(); }
    void deallocate(boost::context::stack_context& stack) { pool->deallocate(stack); }
};

}  // namespace cpu_device
