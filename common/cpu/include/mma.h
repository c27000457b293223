// Stand-in for the toolkit's <mma.h>: nvcuda::wmma for inputs of __half, __nv_bfloat16 and TF32 and sums of
// float and __half (CUDA C++ Programming Guide, "Warp Matrix Functions"), for g++ and the CPU device. Here is
// 16×16×16 with sums of float; the rest is in common/cpu/ptx/wmma_shapes.hpp.
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

namespace precision {
struct tf32;
}
/// What holds an element.
template <class T>
struct Stored {
    using type = T;
};
template <>
struct Stored<precision::tf32> {
    using type = float;
};

template <int m, int n, int k, class T>
constexpr bool kShapeExists = std::is_same_v<T, precision::tf32>
                                  ? m == 16 && n == 16 && k == 8
                                  : k == 16 &&
                                        ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));

/// A lane's share of a matrix. Elements may be changed one by one, alike in all lanes; which they are is not
/// specified.
template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
    static constexpr bool kInput = std::is_same_v<Use, matrix_a> || std::is_same_v<Use, matrix_b>;
    static constexpr bool kHalf = std::is_same_v<T, __half>;
    static_assert(!kInput || kHalf || std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, precision::tf32>,
                  "the CPU device has wmma for matrices A and B of __half, __nv_bfloat16 and TF32");
    static_assert(!kInput || std::is_same_v<Layout, row_major> || std::is_same_v<Layout, col_major>,
                  "matrix_a and matrix_b are row_major or col_major");
    static_assert(kInput || (std::is_same_v<Use, accumulator> &&
                             (kHalf || std::is_same_v<T, float>)&&std::is_same_v<Layout, void>),
                  "the CPU device has wmma for accumulators of float and __half");
    static_assert(kInput ? kShapeExists<m, n, k, T>
                         : kShapeExists<m, n, k, float> || kShapeExists<m, n, k, precision::tf32>,
                  "wmma has 16×16×16, 32×8×16 and 8×32×16, and 16×16×8 for TF32");

  public:
    using element_type = typename Stored<T>::type;
    /// Different elements.
    static constexpr int kHeld = (std::is_same_v<Use, accumulator> ? m * n
                                  : std::is_same_v<Use, matrix_a>  ? m * k
                                                                   : k * n) /
                                 32;
    /// As with NVIDIA's: of A and B of __half there are 16, where an element may be several times.
    static constexpr int num_elements = kInput && kHalf ? 16 : kHeld;
    element_type x[num_elements];
};

template <class Use, int m, int n, int k, class T, class Layout>
__forceinline__ void fill_fragment(fragment<Use, m, n, k, T, Layout>& f,
                                   const typename fragment<Use, m, n, k, T, Layout>::element_type& value) {
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

#include "common/cpu/ptx/wmma_shapes.hpp"
