// Stand-in for the toolkit's <mma.h>: nvcuda::wmma for 16×16×16, inputs of __half or __nv_bfloat16 and sums
// of float (CUDA C++ Programming Guide, "Warp Matrix Functions"), for g++ and the CPU device.
//
// Which elements a lane holds is not specified, and neither is how a warp reads and writes them. Here a lane
// moves pairs of neighbors in memory, where they are neighbors, by the layout of mma.m16n8k16: 4 requests
// of 4 bytes a lane for A and B, 4 of 8 bytes for C. What the tracer counts of them are these. (nvcc 13.0
// makes the same for __nv_bfloat16 on sm_90. For __half it takes one ldmatrix where it knows that the matrix
// is in shared memory: fewer requests for the same bytes.)
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/cpu/ptx/tensor.hpp"
#include "common/ptx/fragments.hpp"

namespace nvcuda::wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };

/// A lane's share of a matrix. Elements may be changed one by one, alike in all lanes; which they are is not
/// specified.
template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
    static constexpr bool kInput = std::is_same_v<Use, matrix_a> || std::is_same_v<Use, matrix_b>;
    static_assert(m == 16 && n == 16 && k == 16, "the CPU device has wmma for 16×16×16");
    static_assert(!kInput || std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>,
                  "the CPU device has wmma for matrices A and B of __half and __nv_bfloat16");
    static_assert(!kInput || std::is_same_v<Layout, row_major> || std::is_same_v<Layout, col_major>,
                  "matrix_a and matrix_b are row_major or col_major");
    static_assert(kInput || (std::is_same_v<Use, accumulator> && std::is_same_v<T, float> &&
                             std::is_same_v<Layout, void>),
                  "the CPU device has wmma for accumulators of float");

  public:
    using element_type = T;
    /// As with NVIDIA's: of __half every element is there twice, and both hold the same.
    static constexpr int num_elements = std::is_same_v<T, __half> ? 16 : 8;
    T x[num_elements];
};

template <class Use, class T, class Layout>
__forceinline__ void fill_fragment(fragment<Use, 16, 16, 16, T, Layout>& f,
                                   const typename fragment<Use, 16, 16, 16, T, Layout>::element_type& value) {
    for (int i = 0; i < f.num_elements; ++i) f.x[i] = value;
}

/// A or B: 16 rows, or columns where it is col_major, `ldm` elements apart.
template <class Use, class T, class Layout>
__forceinline__ void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& f, const T* p, unsigned ldm,
                                      ::cpu_device::Here here = {}) {
    static_assert(!std::is_same_v<Use, accumulator>, "an accumulator's layout is the fourth argument");
    const ::cpu_device::Site site{"load_matrix_sync()", here.file, here.line};
    ::cpu_device::check_wmma_memory(p, ldm, sizeof(T), site);
    struct Pair {
        T first, second;
    };
    const int lane = ::cpu_device::lane();
    for (int r = 0; r < 4; ++r) {
        const gemm::ptx::Position at = gemm::ptx::fragment_a(lane, r, 0);
        const std::uint32_t pair =
            *reinterpret_cast<const std::uint32_t*>(p + static_cast<std::size_t>(at.row) * ldm + at.col);
        const auto elements = __builtin_bit_cast(Pair, pair);
        for (int i = 2 * r; i < f.num_elements; i += 8) {
            f.x[i] = elements.first;
            f.x[i + 1] = elements.second;
        }
    }
    ::cpu_device::wmma_moved(p, ldm, site);
}

__forceinline__ void load_matrix_sync(fragment<accumulator, 16, 16, 16, float>& f, const float* p,
                                      unsigned ldm, layout_t layout, ::cpu_device::Here here = {}) {
    const ::cpu_device::Site site{"load_matrix_sync()", here.file, here.line};
    ::cpu_device::check_wmma_memory(p, ldm, sizeof(float), site);
    const int lane = ::cpu_device::lane();
    for (int i = 0; i < 8; i += 2) {
        const gemm::ptx::Position at = ::cpu_device::wmma_sum(lane, i);
        if (layout == mem_row_major) {
            const float2 pair =
                *reinterpret_cast<const float2*>(p + static_cast<std::size_t>(at.row) * ldm + at.col);
            f.x[i] = pair.x;
            f.x[i + 1] = pair.y;
        } else {
            f.x[i] = p[static_cast<std::size_t>(at.col) * ldm + at.row];
            f.x[i + 1] = p[static_cast<std::size_t>(at.col + 1) * ldm + at.row];
        }
    }
    ::cpu_device::wmma_moved(p, ldm, site);
}

__forceinline__ void store_matrix_sync(float* p, const fragment<accumulator, 16, 16, 16, float>& f,
                                       unsigned ldm, layout_t layout, ::cpu_device::Here here = {}) {
    const ::cpu_device::Site site{"store_matrix_sync()", here.file, here.line};
    ::cpu_device::check_wmma_memory(p, ldm, sizeof(float), site);
    const int lane = ::cpu_device::lane();
    for (int i = 0; i < 8; i += 2) {
        const gemm::ptx::Position at = ::cpu_device::wmma_sum(lane, i);
        if (layout == mem_row_major) {
            *reinterpret_cast<float2*>(p + static_cast<std::size_t>(at.row) * ldm + at.col) =
                make_float2(f.x[i], f.x[i + 1]);
        } else {
            p[static_cast<std::size_t>(at.col) * ldm + at.row] = f.x[i];
            p[static_cast<std::size_t>(at.col + 1) * ldm + at.row] = f.x[i + 1];
        }
    }
    ::cpu_device::wmma_moved(p, ldm, site);
}

/// d = a·b + c; d may be c.
template <class T, class LayoutA, class LayoutB>
__forceinline__ void mma_sync(fragment<accumulator, 16, 16, 16, float>& d,
                              const fragment<matrix_a, 16, 16, 16, T, LayoutA>& a,
                              const fragment<matrix_b, 16, 16, 16, T, LayoutB>& b,
                              const fragment<accumulator, 16, 16, 16, float>& c,
                              ::cpu_device::Here here = {}) {
    ::cpu_device::wmma_multiply(
        d.x, {a.x, std::is_same_v<LayoutA, col_major>}, {b.x, std::is_same_v<LayoutB, col_major>}, c.x,
        std::is_same_v<T, __half> ? ::cpu_device::Input::half : ::cpu_device::Input::bfloat16,
        {"mma_sync()", here.file, here.line});
}

}  // namespace nvcuda::wmma
