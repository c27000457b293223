// nvcuda::wmma, what <mma.h> has beside 16×16×16 with sums of float: 32×8×16 and 8×32×16, 16×16×8 for TF32,
// and sums of __half. A lane moves pairs of neighbors; what the tracer counts of them says how many bytes are
// moved, not how NVIDIA's hardware would.
#pragma once

#include <mma.h>

namespace nvcuda::wmma {

/// Rounds to TF32's 10 bits, to nearest, ties away from zero.
__forceinline__ float __float_to_tf32(float value) {
    const auto bits = __builtin_bit_cast(std::uint32_t, value);
    if ((bits & 0x7f800000u) == 0x7f800000u) return value;
    return __builtin_bit_cast(float, (bits + 0x1000u) & 0xffffe000u);
}

/// Two neighbors, moved at once.
template <class Element>
struct alignas(2 * sizeof(Element)) Neighbors {
    Element first, second;
};

template <int m, int n, int k, class T>
constexpr bool kOfMma = m == 16 && n == 16 && k == 16 && std::is_same_v<T, float>;

/// Where element `index` of a lane's A or B is, as its line and its place there. Of TF32 as m16n8k8 has them:
/// no manual says so, but NVIDIA's hardware does, and there are kernels that fill fragments by hand.
template <class Use, class T, bool COLUMNS, int LENGTH>
__forceinline__ gemm::ptx::Position input_at(int lane, int index) {
    if constexpr (!std::is_same_v<T, precision::tf32>) {
        return ::cpu_device::wmma_element(lane, index, LENGTH);
    } else {
        constexpr bool kA = std::is_same_v<Use, matrix_a>;
        const int across = lane / 4 + (kA ? index % 2 : index / 2) * 8;  // of A's rows or B's columns
        const int deep = lane % 4 + (kA ? index / 2 : index % 2) * 4;
        return kA == COLUMNS ? gemm::ptx::Position{deep, across} : gemm::ptx::Position{across, deep};
    }
}

/// Where element `index` of a lane's accumulator is.
template <int m, int n>
__forceinline__ gemm::ptx::Position sum_at(int lane, int index) {
    if constexpr (m == 16 && n == 16) {
        return ::cpu_device::wmma_sum(lane, index);
    } else {
        return ::cpu_device::wmma_element(lane, index, n);
    }
}

template <class Use, int m, int n, int k, class T, class Layout>
requires(!(m == 16 && n == 16 && k == 16)) __forceinline__
    void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& f, const typename Stored<T>::type* p,
                          unsigned ldm, ::cpu_device::Here here = {}) {
    static_assert(!std::is_same_v<Use, accumulator>, "an accumulator's layout is the fourth argument");
    using Element = typename Stored<T>::type;
    using Fragment = fragment<Use, m, n, k, T, Layout>;
    constexpr bool kA = std::is_same_v<Use, matrix_a>, kColumns = std::is_same_v<Layout, col_major>;
    constexpr int kLength = kA == kColumns ? (kA ? m : n) : k;
    const ::cpu_device::Site site{"load_matrix_sync()", here.file, here.line};
    ::cpu_device::check_wmma_memory(p, ldm, sizeof(Element), site);
    const int lane = ::cpu_device::lane();
    if constexpr (std::is_same_v<T, precision::tf32>) {
        for (int i = 0; i < Fragment::kHeld; ++i) {
            const gemm::ptx::Position at = input_at<Use, T, kColumns, kLength>(lane, i);
            f.x[i] = p[static_cast<std::size_t>(at.row) * ldm + at.col];
        }
        return ::cpu_device::wmma_moved(p, ldm, site);
    }
    for (int i = 0; i < Fragment::kHeld; i += 2) {
        const gemm::ptx::Position at = input_at<Use, T, kColumns, kLength>(lane, i);
        const Neighbors<Element> pair =
            *reinterpret_cast<const Neighbors<Element>*>(p + static_cast<std::size_t>(at.row) * ldm + at.col);
        for (int copy = i; copy < f.num_elements; copy += Fragment::kHeld) {
            f.x[copy] = pair.first;
            f.x[copy + 1] = pair.second;
        }
    }
    ::cpu_device::wmma_moved(p, ldm, site);
}

template <int m, int n, int k, class T>
requires(!kOfMma<m, n, k, T>) __forceinline__
    void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const T* p, unsigned ldm, layout_t layout,
                          ::cpu_device::Here here = {}) {
    const ::cpu_device::Site site{"load_matrix_sync()", here.file, here.line};
    ::cpu_device::check_wmma_memory(p, ldm, sizeof(T), site);
    const int lane = ::cpu_device::lane();
    for (int i = 0; i < f.num_elements; i += 2) {
        const gemm::ptx::Position at = sum_at<m, n>(lane, i);
        if (layout == mem_row_major) {
            const Neighbors<T> pair =
                *reinterpret_cast<const Neighbors<T>*>(p + static_cast<std::size_t>(at.row) * ldm + at.col);
            f.x[i] = pair.first;
            f.x[i + 1] = pair.second;
        } else {
            f.x[i] = p[static_cast<std::size_t>(at.col) * ldm + at.row];
            f.x[i + 1] = p[static_cast<std::size_t>(at.col + 1) * ldm + at.row];
        }
    }
    ::cpu_device::wmma_moved(p, ldm, site);
}

template <int m, int n, int k, class T>
requires(!kOfMma<m, n, k, T>) __forceinline__
    void store_matrix_sync(T* p, const fragment<accumulator, m, n, k, T>& f, unsigned ldm, layout_t layout,
                           ::cpu_device::Here here = {}) {
    const ::cpu_device::Site site{"store_matrix_sync()", here.file, here.line};
    ::cpu_device::check_wmma_memory(p, ldm, sizeof(T), site);
    const int lane = ::cpu_device::lane();
    for (int i = 0; i < f.num_elements; i += 2) {
        const gemm::ptx::Position at = sum_at<m, n>(lane, i);
        if (layout == mem_row_major) {
            *reinterpret_cast<Neighbors<T>*>(p + static_cast<std::size_t>(at.row) * ldm + at.col) = {
                f.x[i], f.x[i + 1]};
        } else {
            p[static_cast<std::size_t>(at.col) * ldm + at.row] = f.x[i];
            p[static_cast<std::size_t>(at.col + 1) * ldm + at.row] = f.x[i + 1];
        }
    }
    ::cpu_device::wmma_moved(p, ldm, site);
}

/// A lane's elements of A or B, as numbers, with their places.
template <class Use, int m, int n, int k, class T, class Layout>
__forceinline__ void add_elements(::cpu_device::Share::Matrix& to,
                                  const fragment<Use, m, n, k, T, Layout>& f) {
    constexpr bool kA = std::is_same_v<Use, matrix_a>, kColumns = std::is_same_v<Layout, col_major>;
    constexpr int kLength = kA == kColumns ? (kA ? m : n) : k;
    const int lane = ::cpu_device::lane();
    for (int i = 0; i < f.kHeld; ++i) {
        gemm::ptx::Position at = input_at<Use, T, kColumns, kLength>(lane, i);
        if constexpr (kColumns) at = {at.col, at.row};
        if constexpr (std::is_same_v<T, precision::tf32>) {
            to.add(::cpu_device::tf32_value(f.x[i]), at);
        } else {
            to.add(static_cast<double>(static_cast<float>(f.x[i])), at);
        }
    }
}

/// d = a·b + c; d may be c. Sums are computed in double and rounded once to their type.
template <int m, int n, int k, class D, class T, class LayoutA, class LayoutB, class C>
requires(!kOfMma<m, n, k, D> || !kOfMma<m, n, k, C>) __forceinline__
    void mma_sync(fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                  const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                  const fragment<accumulator, m, n, k, C>& c, ::cpu_device::Here here = {}) {
    const ::cpu_device::Site site{"mma_sync()", here.file, here.line};
    if constexpr (m == 16 && n == 16 && k == 16) {
        float sums[8];
        for (int i = 0; i < 8; ++i) sums[i] = static_cast<float>(c.x[i]);
        ::cpu_device::wmma_multiply(
            sums, {a.x, std::is_same_v<LayoutA, col_major>}, {b.x, std::is_same_v<LayoutB, col_major>}, sums,
            std::is_same_v<T, __half> ? ::cpu_device::Input::half : ::cpu_device::Input::bfloat16, site);
        for (int i = 0; i < 8; ++i) d.x[i] = static_cast<D>(sums[i]);
    } else {
        ::cpu_device::Share share{m, n, k};
        add_elements(share.a, a);
        add_elements(share.b, b);
        const int lane = ::cpu_device::lane();
        for (int i = 0; i < c.num_elements; ++i)
            share.c.add(static_cast<double>(static_cast<float>(c.x[i])), sum_at<m, n>(lane, i));
        ::cpu_device::multiply_shares(share, site);
        for (int i = 0; i < d.num_elements; ++i) d.x[i] = static_cast<D>(share.c.value[i]);
    }
}

}  // namespace nvcuda::wmma
