// Device level: what a composed kernel is given, the same for every composition.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/gemm.hpp"

namespace gemm {

/// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major, of elements of type T.
template <class T>
struct Arguments {
    using Element = T;
    std::int64_t M, N, K;
    const T* A;
    std::int64_t lda;
    const T* B;
    std::int64_t ldb;
    T* C;
    std::int64_t ldc;
};

template <class T>
Arguments<T> arguments_of(const Problem& p) {
    return {p.M,   p.N,
            p.K,   static_cast<const T*>(p.A),
            p.lda, static_cast<const T*>(p.B),
            p.ldb, static_cast<T*>(p.C),
            p.ldc};
}

/// Whether units of 16 bytes of B and of C, of A too where `a` says so, exist as a whole or not at all: every
/// row begins at a multiple of 16 bytes, and is a multiple of them long.
template <class T>
bool aligned(const Problem& p, bool a) {
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const std::uintptr_t begins = address(p.B) | address(p.C) | (a ? address(p.A) : 0);
    const std::int64_t lengths = p.N | p.ldb | p.ldc | (a ? p.K | p.lda : 0);
    return begins % 16 == 0 && lengths * sizeof(T) % 16 == 0;
}

}  // namespace gemm
