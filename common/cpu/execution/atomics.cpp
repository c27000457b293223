// The atomic functions that kernels call (device_atomic_functions.h). Blocks run on several OS threads, so
// they are atomic for real.
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/ptx/narrow_float.hpp"

namespace cpu_device {
namespace {

/// Puts change(old value) where the old value was, which it returns. `caller`: the return address into the
/// kernel.
template <class T, class Change>
T change(const void* caller, T* address, Change change) {
    if (Observer* o = observer()) o->atomic(caller, address, sizeof(T));
    running_block().changed();
    T before;
    __atomic_load(address, &before, __ATOMIC_RELAXED);
    for (;;) {
        T after = change(before);
        if (__atomic_compare_exchange(address, &before, &after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return before;
    }
}

// Without an effect so often one after the other, a thread spins.
constexpr unsigned kPatience = 32;

/// The same of an operation that kernels may also read a flag by, or try to take a lock: then nothing
/// changes.
template <class T, class Change>
T look_or_change(const void* caller, T* address, const Site& site, Change change) {
    if (Observer* o = observer()) o->atomic(caller, address, sizeof(T));
    T before;
    __atomic_load(address, &before, __ATOMIC_RELAXED);
    for (;;) {
        T after = change(before);
        if (!__atomic_compare_exchange(address, &before, &after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        if (after != before) {
            running_block().changed();
        } else {
            (void)running_block().polled(address, sizeof(T), static_cast<std::make_unsigned_t<T>>(before),
                                         kPatience, site);
        }
        return before;
    }
}

template <class T>
T updated(Update update, T a, T b) {
    switch (update) {
        case Update::exchange:
            return b;
        case Update::add:
            if constexpr (std::is_integral_v<T>) {  // wraps round, as on a GPU
                using Unsigned = std::make_unsigned_t<T>;
                return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
            } else {
                return a + b;
            }
        case Update::least:
            return std::min(a, b);
        case Update::most:
            return std::max(a, b);
        case Update::increment:
            return a >= b ? T{0} : a + T{1};
        case Update::decrement:
            return a == T{0} || a > b ? b : a - T{1};
        default:
            break;
    }
    if constexpr (std::is_integral_v<T>) {
        if (update == Update::conjunction) return a & b;
        return update == Update::disjunction ? a | b : a ^ b;
    } else {
        return a;  // CUDA has no bits of floating-point numbers
    }
}

/// Whether it may leave what is there, and who does it again and again waits for something.
bool looks(Update update) {
    return update == Update::exchange || update == Update::add || update == Update::conjunction ||
           update == Update::disjunction || update == Update::exclusive;
}

template <class T>
T swapped_if(const void* caller, T* address, T expected, T value, const Site& site) {
    return look_or_change(caller, address, site,
                          [&](T before) { return before == expected ? value : before; });
}

std::uint16_t half_sum(std::uint16_t a, std::uint16_t b) {
    return half_bits(static_cast<double>(value_of_half(a)) + static_cast<double>(value_of_half(b)));
}
std::uint16_t bfloat16_sum(std::uint16_t a, std::uint16_t b) {
    return bfloat16_bits(static_cast<double>(value_of_bfloat16(a)) +
                         static_cast<double>(value_of_bfloat16(b)));
}
template <class Sum>
unsigned sums_of_two(Sum sum, unsigned a, unsigned b) {
    const auto low = [](unsigned bits) { return static_cast<std::uint16_t>(bits); };
    return unsigned{sum(low(a), low(b))} | unsigned{sum(low(a >> 16), low(b >> 16))} << 16;
}

}  // namespace

#define ATOMIC_UPDATE(T)                                                   \
    T atomic_update(Update update, T* address, T value, Site) {            \
        return change(__builtin_return_address(0), address,                \
                      [&](T old) { return updated(update, old, value); }); \
    }
#define ATOMIC_LOOK(T)                                                                  \
    T atomic_update(Update update, T* address, T value, Site site) {                    \
        const auto after = [&](T old) { return updated(update, old, value); };          \
        if (!looks(update)) return change(__builtin_return_address(0), address, after); \
        return look_or_change(__builtin_return_address(0), address, site, after);       \
    }
ATOMIC_LOOK(int)
ATOMIC_LOOK(unsigned)
ATOMIC_LOOK(long long)
ATOMIC_LOOK(unsigned long long)
ATOMIC_UPDATE(float)
ATOMIC_UPDATE(double)
#undef ATOMIC_UPDATE
#undef ATOMIC_LOOK

#define ATOMIC_SWAP_IF(T)                                                               \
    T atomic_swap_if(T* address, T expected, T value, Site site) {                      \
        return swapped_if(__builtin_return_address(0), address, expected, value, site); \
    }
ATOMIC_SWAP_IF(int)
ATOMIC_SWAP_IF(unsigned)
ATOMIC_SWAP_IF(unsigned long long)
ATOMIC_SWAP_IF(unsigned short)
#undef ATOMIC_SWAP_IF

unsigned short atomic_add_half(unsigned short* address, unsigned short value) {
    return change(__builtin_return_address(0), address,
                  [&](std::uint16_t old) { return half_sum(old, value); });
}
unsigned short atomic_add_bfloat16(unsigned short* address, unsigned short value) {
    return change(__builtin_return_address(0), address,
                  [&](std::uint16_t old) { return bfloat16_sum(old, value); });
}
unsigned atomic_add_half2(unsigned* address, unsigned value) {
    return change(__builtin_return_address(0), address,
                  [&](unsigned old) { return sums_of_two(half_sum, old, value); });
}
unsigned atomic_add_bfloat162(unsigned* address, unsigned value) {
    return change(__builtin_return_address(0), address,
                  [&](unsigned old) { return sums_of_two(bfloat16_sum, old, value); });
}

}  // namespace cpu_device
