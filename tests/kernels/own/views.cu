// Matrices as views of two dimensions.
#include <cuda/std/array>
#include <cuda/std/mdspan>

using Sizes = cuda::std::dextents<int, 2>;
using View = cuda::std::mdspan<const float, Sizes, cuda::std::layout_stride>;

__global__ void through_views(View a, cuda::std::mdspan<const float, Sizes, cuda::std::layout_left> b,
                              cuda::std::mdspan<float, Sizes> c) {
    const int row = blockIdx.x, column = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < a.extent(1); ++k) sum += a(row, k) * b(k, column);
    c(row, column) = sum;
}
void views(int M, int N, int K, const float* A, int lda, const float* B, float* C,
           cudaStream_t stream = nullptr) {
    const View a(A, View::mapping_type(Sizes(M, K), cuda::std::array<int, 2>{lda, 1}));
    const cuda::std::mdspan<const float, Sizes, cuda::std::layout_left> b(B, K, N);
    through_views<<<M, N, 0, stream>>>(a, b, cuda::std::mdspan<float, Sizes>(C, M, N));
}
