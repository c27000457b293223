// Stacks for fibers, with a guard page below each.
#pragma once

#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <vector>

namespace cpu_device {

constexpr std::size_t kStackBytes = 64 * 1024;

/// The stacks of a block's threads, in one reservation that stays for as long as it does: a free list hands
/// out the most recently used (its cache lines are warm).
class StackPool {
  public:
    explicit StackPool(std::size_t stacks);
    StackPool(const StackPool&) = delete;
    StackPool& operator=(const StackPool&) = delete;
    ~StackPool();

    boost::context::stack_context allocate();
    void deallocate(boost::context::stack_context& stack);

    const std::byte* begin() const { return reinterpret_cast<const std::byte*>(base_); }
    const std::byte* end() const;
    bool is_guard(const void* address) const;
    std::size_t size() const { return stacks_; }

  private:
    const std::size_t stacks_;
    char* base_;
    std::vector<char*> free_;
};

struct StackAllocator {  // Boost.Context copies its allocator
    StackPool* pool;
    boost::context::stack_context allocate() { return pool->allocate(); }
    void deallocate(boost::context::stack_context& stack) { pool->deallocate(stack); }
};

}  // namespace cpu_device
