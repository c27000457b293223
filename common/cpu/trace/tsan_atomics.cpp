// The atomic operations of traced code. gcc's -fsanitize=thread makes a call of each __atomic_…, which is
// also what std::atomic is made of and how a function's static variables are guarded; linked with these
// instead of libtsan, the operation is done, and where a kernel does it, traced. Names and order of arguments
// are libtsan's (sanitizer/tsan_interface_atomic.h). Every operation is sequentially consistent, which any
// other asks less of.
#include <cstdint>

#include "common/cpu/trace/hooks.hpp"

namespace cpu_device::trace {
namespace {

__extension__ using Bits128 = unsigned __int128;
using MemoryOrder = int;

// 16 bytes at once are no business of every processor's: one at a time.
class Lock {
  public:
    Lock() {
        while (__atomic_test_and_set(&held, __ATOMIC_ACQUIRE)) {
        }
    }
    ~Lock() { __atomic_clear(&held, __ATOMIC_RELEASE); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

  private:
    static bool held;
};
bool Lock::held = false;

template <class T>
T load(const volatile T* address) {
    if constexpr (sizeof(T) > 8) {
        const Lock lock;
        return *address;
    } else {
        return __atomic_load_n(address, __ATOMIC_SEQ_CST);
    }
}
template <class T>
bool compare_exchange(volatile T* address, T* expected, T value) {
    if constexpr (sizeof(T) > 8) {
        const Lock lock;
        const T before = *address;
        if (before == *expected) {
            *address = value;
            return true;
        }
        *expected = before;
        return false;
    } else {
        return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
    }
}
/// Puts change(old value) there; what was there.
template <class T, class Change>
T exchange(volatile T* address, Change change) {
    T before = load(address);
    while (!compare_exchange(address, &before, static_cast<T>(change(before)))) {
    }
    return before;
}

}  // namespace

extern "C" {
#define FETCH(bits, T, operation, expression)                                          \
    T __tsan_atomic##bits##_fetch_##operation(volatile T* address, T b, MemoryOrder) { \
        record_atomic(__builtin_return_address(0), address, sizeof(T), true);          \
        return exchange(address, [b](T a) { return static_cast<T>(expression); });     \
    }
#define ATOMICS(bits, T)                                                                                    \
    T __tsan_atomic##bits##_load(const volatile T* address, MemoryOrder) {                                  \
        record_atomic(__builtin_return_address(0), address, sizeof(T), false);                              \
        return load(address);                                                                               \
    }                                                                                                       \
    void __tsan_atomic##bits##_store(volatile T* address, T value, MemoryOrder) {                           \
        record_atomic(__builtin_return_address(0), address, sizeof(T), true);                               \
        exchange(address, [value](T) { return value; });                                                    \
    }                                                                                                       \
    T __tsan_atomic##bits##_exchange(volatile T* address, T value, MemoryOrder) {                           \
        record_atomic(__builtin_return_address(0), address, sizeof(T), true);                               \
        return exchange(address, [value](T) { return value; });                                             \
    }                                                                                                       \
    FETCH(bits, T, add, a + b)                                                                              \
    FETCH(bits, T, sub, a - b)                                                                              \
    FETCH(bits, T, and, a& b)                                                                               \
    FETCH(bits, T, or, a | b)                                                                               \
    FETCH(bits, T, xor, a ^ b)                                                                              \
    FETCH(bits, T, nand, ~(a & b))                                                                          \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T* address, T* expected, T value,            \
                                                      MemoryOrder, MemoryOrder) {                           \
        record_atomic(__builtin_return_address(0), address, sizeof(T), true);                               \
        return compare_exchange(address, expected, value);                                                  \
    }                                                                                                       \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T* address, T* expected, T value, MemoryOrder, \
                                                    MemoryOrder) {                                          \
        record_atomic(__builtin_return_address(0), address, sizeof(T), true);                               \
        return compare_exchange(address, expected, value);                                                  \
    }                                                                                                       \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T* address, T expected, T value, MemoryOrder,     \
                                                 MemoryOrder) {                                             \
        record_atomic(__builtin_return_address(0), address, sizeof(T), true);                               \
        compare_exchange(address, &expected, value);                                                        \
        return expected;                                                                                    \
    }
ATOMICS(8, std::uint8_t)
ATOMICS(16, std::uint16_t)
ATOMICS(32, std::uint32_t)
ATOMICS(64, std::uint64_t)
ATOMICS(128, Bits128)
#undef ATOMICS
#undef FETCH
void __tsan_atomic_thread_fence(MemoryOrder) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    record_fence();
}
void __tsan_atomic_signal_fence(MemoryOrder) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
}  // extern "C"

}  // namespace cpu_device::trace
