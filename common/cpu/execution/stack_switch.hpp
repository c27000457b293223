// Tells AddressSanitizer, in a program that is built with it, when control goes to another stack; else
// nothing.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace cpu_device {

struct StackBounds {
    const void* bottom = nullptr;
    std::size_t bytes = 0;
};

#ifdef __SANITIZE_ADDRESS__

/// Lives while control is on the other stack. What ends it is on this stack again, also where an exception
/// is.
class OnOtherStack {
  public:
    explicit OnOtherStack(const StackBounds& other) {
        __sanitizer_start_switch_fiber(&kept_, other.bottom, other.bytes);
    }
    OnOtherStack(const OnOtherStack&) = delete;
    OnOtherStack& operator=(const OnOtherStack&) = delete;
    ~OnOtherStack() { __sanitizer_finish_switch_fiber(kept_, nullptr, nullptr); }

  private:
    void* kept_ = nullptr;
};

/// Lives as long as a new stack is in use, to which control came from another one: its bounds are put there.
class NewStack {
  public:
    explicit NewStack(StackBounds& from) : from_(from) {
        __sanitizer_finish_switch_fiber(nullptr, &from.bottom, &from.bytes);
    }
    NewStack(const NewStack&) = delete;
    NewStack& operator=(const NewStack&) = delete;
    ~NewStack() { __sanitizer_start_switch_fiber(nullptr, from_.bottom, from_.bytes); }

  private:
    const StackBounds& from_;
};

/// What is known of variables there is of calls that have not ended, and never will. Whatever memory that is
/// next is not theirs.
inline void forget_variables(const StackBounds& stack) {
    __asan_unpoison_memory_region(stack.bottom, stack.bytes);
}

/// Control has jumped to that stack, past calls that will not end, and never goes back.
inline void jumped_to(const StackBounds& stack) {
    forget_variables(stack);
    __sanitizer_start_switch_fiber(nullptr, stack.bottom, stack.bytes);
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
}

#else

struct OnOtherStack {
    explicit OnOtherStack(const StackBounds& /*other*/) {}
    ~OnOtherStack() {}
};
struct NewStack {
    explicit NewStack(StackBounds& /*from*/) {}
    ~NewStack() {}
};
inline void forget_variables(const StackBounds& /*stack*/) {}
inline void jumped_to(const StackBounds& /*stack*/) {}

#endif

}  // namespace cpu_device
