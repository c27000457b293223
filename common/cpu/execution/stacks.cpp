#include "common/cpu/execution/stacks.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/stack_switch.hpp"
#include "common/error.hpp"

namespace cpu_device {
namespace {

// What lies below each stack and must not be touched: whole pages of memory, and at least as much as a
// function may step over without touching it, which -fstack-clash-protection of g++ makes 4 KiB on x86-64 and
// 64 KiB on aarch64 (whose pages have 4, 16 or 64 KiB).
#ifdef __aarch64__
constexpr std::size_t kGuard = 64 * 1024;
#else
constexpr std::size_t kGuard = 4096;
#endif
constexpr std::size_t kStackStride = kStackBytes + kGuard;
constexpr std::size_t kCacheLine = 64, kColours = 64;
constexpr std::ptrdiff_t kCanaries = 64;  // words below a stack

}  // namespace

std::string stack_overflow_text() {
    return "its local variables take more than the " + std::to_string(kStackBytes / 1024) +
           " KiB of stack that the CPU device gives a thread.";
}

StackPool::StackPool(std::size_t stacks, bool guarded) : stacks_(stacks), guarded_(guarded) {
    base_ = static_cast<char*>(mmap(nullptr, stacks_ * kStackStride, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (base_ == MAP_FAILED) throw gemm::Error("No memory for the CPU device's thread stacks.");
    for (std::size_t i = stacks_; i-- > 0;) {
        char* guard = base_ + i * kStackStride;
        if ((guarded_ || i == 0) && mprotect(guard, kGuard, PROT_NONE) != 0) {
            throw gemm::Error("The CPU device's stack guards cannot be set up: too many memory mappings.");
        }
        free_.push_back(guard);
    }
}

StackPool::~StackPool() {
    forget_variables({base_, stacks_ * kStackStride});
    munmap(base_, stacks_ * kStackStride);
}

boost::context::stack_context StackPool::allocate() {
    if (free_.empty()) throw std::bad_alloc();  // cannot be: one fiber per thread of a block
    char* const guard = free_.back();
    free_.pop_back();
    // Tops that lie whole pages apart share a few cache sets and evict each other; these start on different
    // lines.
    const std::size_t index = static_cast<std::size_t>(guard - base_) / kStackStride;
    const std::size_t colour = index * 5 % kColours * kCacheLine;
    boost::context::stack_context stack;
    stack.size = kStackBytes - colour;
    stack.sp = guard + kStackStride - colour;
    return stack;
}

void StackPool::deallocate(boost::context::stack_context& stack) {
    const auto end = static_cast<std::size_t>(static_cast<char*>(stack.sp) - base_ - 1);
    free_.push_back(base_ + end / kStackStride * kStackStride);
}

const std::byte* StackPool::end() const {
    return begin() + stacks_ * kStackStride;
}

bool StackPool::is_guard(const void* address) const {
    const auto* a = static_cast<const char*>(address);
    return a >= base_ && a < base_ + stacks_ * kStackStride &&
           static_cast<std::size_t>(a - base_) % kStackStride < kGuard;
}

bool StackPool::intact(const void* bottom) const {
    const auto* const first = static_cast<const char*>(bottom);
    if (guarded_ || first < base_ + kStackStride) return true;
    // Reading what nobody has written takes no memory.
    const auto* const words = reinterpret_cast<const std::uint64_t*>(
        base_ + static_cast<std::size_t>(first - base_) / kStackStride * kStackStride + kGuard);
    return std::all_of(words - kCanaries, words, [](std::uint64_t word) { return word == 0; });
}

}  // namespace cpu_device
