// Stand-in for the toolkit's <device_atomic_functions.h>: the atomic functions of a kernel (CUDA C++
// Programming Guide, "Atomic Functions"), each with the types that CUDA has it for, and no others. They are
// atomic for the threads of all blocks, in shared and in global memory, so that what _block and _system add
// makes no difference here.
#pragma once

#include "cuda_runtime.h"

namespace cpu_device {

/// What becomes of the old value `a`, given `b`.
enum class Update {
    exchange,     // b
    add,          // a + b, of integers modulo their range
    least,        // min(a, b)
    most,         // max(a, b)
    increment,    // a >= b ? 0 : a + 1
    decrement,    // a == 0 || a > b ? b : a - 1
    conjunction,  // a & b
    disjunction,  // a | b
    exclusive,    // a ^ b
};
// What was at the address before. Out of line, and called by functions that are always inline: the tracer
// takes the line from the return address.
int atomic_update(Update update, int* address, int value, Site site);
unsigned atomic_update(Update update, unsigned* address, unsigned value, Site site);
long long atomic_update(Update update, long long* address, long long value, Site site);
unsigned long long atomic_update(Update update, unsigned long long* address, unsigned long long value,
                                 Site site);
float atomic_update(Update update, float* address, float value, Site site);
double atomic_update(Update update, double* address, double value, Site site);
/// `value` is put there if `expected` was.
int atomic_swap_if(int* address, int expected, int value, Site site);
unsigned atomic_swap_if(unsigned* address, unsigned expected, unsigned value, Site site);
unsigned long long atomic_swap_if(unsigned long long* address, unsigned long long expected,
                                  unsigned long long value, Site site);
unsigned short atomic_swap_if(unsigned short* address, unsigned short expected, unsigned short value,
                              Site site);
/// Bits of one or two elements of 16 bits, each rounded to nearest even; two are added one by one.
unsigned short atomic_add_half(unsigned short* address, unsigned short value);
unsigned short atomic_add_bfloat16(unsigned short* address, unsigned short value);
unsigned atomic_add_half2(unsigned* address, unsigned value);
unsigned atomic_add_bfloat162(unsigned* address, unsigned value);

}  // namespace cpu_device

#define CPU_DEVICE_ATOMIC(name, T, update)                                               \
    __forceinline__ T name(T* address, T value, ::cpu_device::Here here = {}) {          \
        return ::cpu_device::atomic_update(::cpu_device::Update::update, address, value, \
                                           {#name "()", here.file, here.line});          \
    }                                                                                    \
    __forceinline__ T name##_block(T* address, T value, ::cpu_device::Here here = {}) {  \
        return ::cpu_device::atomic_update(::cpu_device::Update::update, address, value, \
                                           {#name "()", here.file, here.line});          \
    }                                                                                    \
    __forceinline__ T name##_system(T* address, T value, ::cpu_device::Here here = {}) { \
        return ::cpu_device::atomic_update(::cpu_device::Update::update, address, value, \
                                           {#name "()", here.file, here.line});          \
    }
#define CPU_DEVICE_ATOMIC_BITS(name, update)  \
    CPU_DEVICE_ATOMIC(name, int, update)      \
    CPU_DEVICE_ATOMIC(name, unsigned, update) \
    CPU_DEVICE_ATOMIC(name, unsigned long long, update)
CPU_DEVICE_ATOMIC_BITS(atomicAdd, add)
CPU_DEVICE_ATOMIC(atomicAdd, float, add)
CPU_DEVICE_ATOMIC(atomicAdd, double, add)
CPU_DEVICE_ATOMIC_BITS(atomicExch, exchange)
CPU_DEVICE_ATOMIC(atomicExch, float, exchange)
CPU_DEVICE_ATOMIC_BITS(atomicMin, least)
CPU_DEVICE_ATOMIC(atomicMin, long long, least)
CPU_DEVICE_ATOMIC_BITS(atomicMax, most)
CPU_DEVICE_ATOMIC(atomicMax, long long, most)
CPU_DEVICE_ATOMIC(atomicInc, unsigned, increment)
CPU_DEVICE_ATOMIC(atomicDec, unsigned, decrement)
CPU_DEVICE_ATOMIC_BITS(atomicAnd, conjunction)
CPU_DEVICE_ATOMIC_BITS(atomicOr, disjunction)
CPU_DEVICE_ATOMIC_BITS(atomicXor, exclusive)
#undef CPU_DEVICE_ATOMIC_BITS
#undef CPU_DEVICE_ATOMIC

#define CPU_DEVICE_ATOMIC_SUB(name)                                                                  \
    __forceinline__ int name(int* address, int value, ::cpu_device::Here here = {}) {                \
        return atomicAdd(address, static_cast<int>(0u - static_cast<unsigned>(value)), here);        \
    }                                                                                                \
    __forceinline__ unsigned name(unsigned* address, unsigned value, ::cpu_device::Here here = {}) { \
        return atomicAdd(address, 0u - value, here);                                                 \
    }
CPU_DEVICE_ATOMIC_SUB(atomicSub)
CPU_DEVICE_ATOMIC_SUB(atomicSub_block)
CPU_DEVICE_ATOMIC_SUB(atomicSub_system)
#undef CPU_DEVICE_ATOMIC_SUB

#define CPU_DEVICE_ATOMIC_CAS(T)                                                                             \
    __forceinline__ T atomicCAS(T* address, T compare, T value, ::cpu_device::Here here = {}) {              \
        return ::cpu_device::atomic_swap_if(address, compare, value, {"atomicCAS()", here.file, here.line}); \
    }                                                                                                        \
    __forceinline__ T atomicCAS_block(T* address, T compare, T value, ::cpu_device::Here here = {}) {        \
        return ::cpu_device::atomic_swap_if(address, compare, value,                                         \
                                            {"atomicCAS_block()", here.file, here.line});                    \
    }                                                                                                        \
    __forceinline__ T atomicCAS_system(T* address, T compare, T value, ::cpu_device::Here here = {}) {       \
        return ::cpu_device::atomic_swap_if(address, compare, value,                                         \
                                            {"atomicCAS_system()", here.file, here.line});                   \
    }
CPU_DEVICE_ATOMIC_CAS(int)
CPU_DEVICE_ATOMIC_CAS(unsigned)
CPU_DEVICE_ATOMIC_CAS(unsigned long long)
CPU_DEVICE_ATOMIC_CAS(unsigned short)
#undef CPU_DEVICE_ATOMIC_CAS
