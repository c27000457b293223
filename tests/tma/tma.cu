// mbarriers and the copy engine, on a GPU and on the CPU device alike.
#include "common/ptx/tma.hpp"
#include "tests/tma/tma.hpp"

namespace kernels {
namespace {

using gemm::ptx::Mbarrier;

constexpr int kThreads = 64;

template <int RANK>
__device__ void load(void* shared, const CUtensorMap& map, const int* at, Mbarrier& barrier) {
    int position[RANK];
    for (int d = 0; d < RANK; ++d) position[d] = at[d];
    gemm::ptx::tma_load(shared, map, position, barrier);
}
template <int RANK>
__device__ void store(const CUtensorMap& map, const int* at, const void* shared) {
    int position[RANK];
    for (int d = 0; d < RANK; ++d) position[d] = at[d];
    gemm::ptx::tma_store(map, position, shared);
}

__device__ void begin(Mbarrier& barrier, unsigned arrivals) {
    if (threadIdx.x == 0) {
        gemm::ptx::mbarrier_init(barrier, arrivals);
        gemm::ptx::fence_mbarrier_init();
    }
    __syncthreads();
}

__global__ void tma_load_kernel(const __grid_constant__ TmaCase c, std::uint8_t* out) {
    extern __shared__ __align__(1024) std::uint8_t memory[];
    __shared__ Mbarrier arrived;
    begin(arrived, 1);
    for (unsigned i = threadIdx.x; i < c.bytes; i += kThreads) memory[i] = kTmaUntouched;
    for (int phase = 0; phase < c.phases; ++phase) {
        gemm::ptx::fence_proxy_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            gemm::ptx::mbarrier_arrive_expect_tx(arrived, c.box_bytes);
            std::uint8_t* const to = memory + c.offset;
            const int* const at = c.at[phase];
            if (c.rank == 1) load<1>(to, c.map, at, arrived);
            if (c.rank == 2) load<2>(to, c.map, at, arrived);
            if (c.rank == 3) load<3>(to, c.map, at, arrived);
            if (c.rank == 4) load<4>(to, c.map, at, arrived);
            if (c.rank == 5) load<5>(to, c.map, at, arrived);
        }
        gemm::ptx::mbarrier_wait(arrived, phase % 2);
        for (unsigned i = threadIdx.x; i < c.bytes; i += kThreads) out[phase * c.bytes + i] = memory[i];
    }
}

__global__ void tma_store_kernel(const __grid_constant__ TmaCase c, const std::uint8_t* in) {
    extern __shared__ __align__(1024) std::uint8_t memory[];
    for (int phase = 0; phase < c.phases; ++phase) {
        for (unsigned i = threadIdx.x; i < c.bytes; i += kThreads)
            memory[i] = static_cast<std::uint8_t>(in[i] + phase);
        gemm::ptx::fence_proxy_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            const std::uint8_t* const from = memory + c.offset;
            const int* const at = c.at[phase];
            if (c.rank == 1) store<1>(c.map, at, from);
            if (c.rank == 2) store<2>(c.map, at, from);
            if (c.rank == 3) store<3>(c.map, at, from);
            if (c.rank == 4) store<4>(c.map, at, from);
            if (c.rank == 5) store<5>(c.map, at, from);
            gemm::ptx::bulk_commit();
            // In order, so that of boxes that overlap the last one stays.
            gemm::ptx::bulk_wait<0>();
        }
        __syncthreads();
    }
}

__global__ void bulk_kernel(unsigned bytes, const std::uint8_t* in, std::uint8_t* out) {
    extern __shared__ __align__(1024) std::uint8_t memory[];
    __shared__ Mbarrier arrived;
    begin(arrived, 1);
    std::uint8_t* const second = memory + kTmaShared / 2;
    if (threadIdx.x == 0) {
        gemm::ptx::mbarrier_arrive_expect_tx(arrived, bytes);
        gemm::ptx::bulk_load(memory, in, bytes, arrived);
    }
    gemm::ptx::mbarrier_wait(arrived, 0);
    for (unsigned i = threadIdx.x; i < bytes; i += kThreads) second[i] = memory[i];
    gemm::ptx::fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        gemm::ptx::bulk_store(out, second, bytes);
        gemm::ptx::bulk_commit();
        gemm::ptx::bulk_wait_read<0>();
    }
}

__global__ void mbarrier_rounds_kernel(int rounds, int* out) {
    __shared__ Mbarrier turn, read;
    __shared__ int number;
    const int threads = blockDim.x;
    if (threadIdx.x == 0) {
        gemm::ptx::mbarrier_init(turn, threads + 1);
        gemm::ptx::mbarrier_init(read, threads);
    }
    __syncthreads();
    for (int round = 0; round < rounds; ++round) {
        const int writer = round % threads;
        if (static_cast<int>(threadIdx.x) == writer) {
            number = round * threads + 1;
            gemm::ptx::mbarrier_arrive(turn, 2);
        } else {
            gemm::ptx::mbarrier_arrive(turn);
        }
        gemm::ptx::mbarrier_wait(turn, round % 2);
        out[round * threads + threadIdx.x] = number;
        gemm::ptx::mbarrier_arrive(read);
        gemm::ptx::mbarrier_wait(read, round % 2);
    }
}

__device__ int answers(Mbarrier& barrier) {
    return 2 * gemm::ptx::mbarrier_test_wait(barrier, 1) + gemm::ptx::mbarrier_test_wait(barrier, 0);
}

__global__ void mbarrier_answers_kernel(const std::uint8_t* sixteen, int* out) {
    __shared__ __align__(16) std::uint8_t bytes[16];
    __shared__ Mbarrier barrier;
    gemm::ptx::mbarrier_init(barrier, 2);
    gemm::ptx::fence_mbarrier_init();
    out[0] = answers(barrier);
    gemm::ptx::mbarrier_arrive(barrier);
    out[1] = answers(barrier);
    gemm::ptx::mbarrier_arrive(barrier);
    out[2] = answers(barrier);
    gemm::ptx::mbarrier_expect_tx(barrier, 16);
    gemm::ptx::mbarrier_arrive(barrier, 2);
    out[3] = answers(barrier);
    gemm::ptx::bulk_load(bytes, sixteen, 16, barrier);
    gemm::ptx::mbarrier_wait(barrier, 1);
    out[4] = answers(barrier);
    gemm::ptx::mbarrier_inval(barrier);
}

template <class... P>
void raise_limit(void (*kernel)(P...)) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kTmaShared);
}

}  // namespace

void tma_load(const TmaCase& c, std::uint8_t* out) {
    raise_limit(tma_load_kernel);
    tma_load_kernel<<<1, kThreads, kTmaShared>>>(c, out);
}
void tma_store(const TmaCase& c, const std::uint8_t* in) {
    raise_limit(tma_store_kernel);
    tma_store_kernel<<<1, kThreads, kTmaShared>>>(c, in);
}
void bulk(unsigned bytes, const std::uint8_t* in, std::uint8_t* out) {
    raise_limit(bulk_kernel);
    bulk_kernel<<<1, kThreads, kTmaShared>>>(bytes, in, out);
}
void mbarrier_rounds(int threads, int rounds, int* out) {
    mbarrier_rounds_kernel<<<1, threads>>>(rounds, out);
}
void mbarrier_answers(const std::uint8_t* sixteen, int* out) {
    mbarrier_answers_kernel<<<1, 1>>>(sixteen, out);
}

}  // namespace kernels
