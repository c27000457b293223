#pragma once
#include <cstdint>

__device__ __forceinline__ uint32_t number_of(const void* shared) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

#define CP_ASYNC(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(from))

__device__ __forceinline__ void ldmatrix4(uint32_t (&r)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from));
}
