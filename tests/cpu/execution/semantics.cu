// What a kernel may rely on, on a GPU and on the CPU device alike.
#include "tests/cpu/execution/kernels.hpp"

namespace kernels {
namespace {

__global__ void write_indices(int* out) {
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int* mine = out + 12 * (block * threads + thread);
    const unsigned values[12] = {threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z,
                                 blockDim.x,  blockDim.y,  blockDim.z,  gridDim.x,  gridDim.y,  gridDim.z};
    for (int i = 0; i < 12; ++i) mine[i] = static_cast<int>(values[i]);
}

__global__ void shuffle(unsigned mask, int width, int* out) {
    const int thread = threadIdx.x, threads = blockDim.x, lane = thread % warpSize;
    if ((mask >> lane & 1u) == 0) return;
    const int value = 100 + thread;
    int* mine = out + thread;
    mine[0 * threads] = __shfl_sync(mask, value, 5 + lane, width);
    mine[1 * threads] = __shfl_up_sync(mask, value, 3, width);
    mine[2 * threads] = __shfl_down_sync(mask, value, 2, width);
    mine[3 * threads] = __shfl_xor_sync(mask, value, 5, width);
    mine[4 * threads] = static_cast<int>(__ballot_sync(mask, lane % 3 == 0));
    mine[5 * threads] = __any_sync(mask, lane == 4);
    mine[6 * threads] = __all_sync(mask, lane < 40);
    mine[7 * threads] = __all_sync(mask, lane != 4);
}

__global__ void halves(int* out) {
    const int lane = threadIdx.x;
    int sum = lane;
    if (lane % 2 == 0) {
        for (int d = 16; d > 1; d /= 2) sum += __shfl_xor_sync(0x55555555u, sum, d);
    } else {
        for (int d = 16; d > 1; d /= 2) sum += __shfl_xor_sync(0xaaaaaaaau, sum, d);
    }
    out[lane] = sum;
}

__global__ void wide(double* out) {
    const int lane = threadIdx.x;
    const double value = 1.0 / (1 + lane);
    out[lane] = __shfl_sync(0xffffffffu, value, 31 - lane);
    out[32 + lane] = static_cast<double>(__shfl_sync(0xffffffffu, static_cast<float>(value), 31 - lane));
}

__global__ void sum_of_block(const float* in, float* out) {
    __shared__ float part[1024];
    const int thread = threadIdx.x, threads = blockDim.x;
    part[thread] = in[blockIdx.x * threads + thread];
    __syncthreads();
    for (int width = 512; width > 0; width /= 2) {
        if (thread < width && thread + width < threads) part[thread] += part[thread + width];
        __syncthreads();
    }
    if (thread == 0) out[blockIdx.x] = part[0];
}

__global__ void reverse_block(const float* in, float* out) {
    extern __shared__ float values[];
    const int thread = threadIdx.x, threads = blockDim.x;
    values[thread] = in[blockIdx.x * threads + thread];
    __syncthreads();
    out[blockIdx.x * threads + thread] = values[threads - 1 - thread];
}

__global__ void twice(int n, const float4* in, float4* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 v = in[i];
    out[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
}

__global__ void pass_on(int* out) {
    __shared__ int values[32];
    const int lane = threadIdx.x;
    values[lane] = lane;
    __syncwarp();
    out[lane] = values[(lane + 1) % 32];
}

__global__ void meet_after_exits_kernel(unsigned* out) {
    const unsigned lane = threadIdx.x;
    out[lane] = out[32 + lane] = 0;
    if (lane < 4) return;
    if (lane >= 20) return;
    __syncwarp();
    out[lane] = __ballot_sync(0xffffffffu, 1);
    out[32 + lane] = __shfl_sync(0xffffffffu, lane, 4);
}

__global__ void barrier_votes_kernel(int modulus, int* out) {
    const int t = threadIdx.x;
    const bool divides = t % modulus == 0;
    out[3 * t] = __syncthreads_count(divides);
    out[3 * t + 1] = __syncthreads_and(divides) != 0;
    out[3 * t + 2] = __syncthreads_or(divides) != 0;
}

__global__ void active_masks_kernel(unsigned* out) {
    const unsigned lane = threadIdx.x;
    out[lane] = __activemask();
    if (lane < 8) out[32 + lane] = __activemask();
}

__global__ void functions_kernel(float x, float y, int i, int j, unsigned u, double* out) {
    __builtin_assume(out != nullptr);
    const double values[kFunctions] = {
        static_cast<double>(min(i, j)),
        static_cast<double>(max(i, j)),
        static_cast<double>(min(i, u)),
        static_cast<double>(max(u, i)),
        static_cast<double>(min(x, y)),
        static_cast<double>(max(x, y)),
        min(static_cast<double>(x), y),
        max(x, static_cast<double>(y)),
        static_cast<double>(min(static_cast<long>(i), static_cast<long>(j))),
        static_cast<double>(max(static_cast<long long>(i), static_cast<unsigned long long>(u))),
        static_cast<double>(fmaf(x, y, 1.5f)),
        static_cast<double>(__fmaf_rn(x, y, 1.5f)),
        static_cast<double>(__fadd_rn(x, y)),
        static_cast<double>(__fmul_rn(x, y)),
        static_cast<double>(rsqrtf(x)),
        static_cast<double>(__popc(u)),
        static_cast<double>(__clz(i)),
        static_cast<double>(__ffs(i)),
        __float2int_rn(x) + 1000.0 * __float2int_rz(x),
        static_cast<double>(__int2float_rn(i))};
    for (int n = 0; n < kFunctions; ++n) out[n] = values[n];
}

__global__ void atomics_kernel(int* taken, int* ints, unsigned* unsigneds, unsigned long long* longs,
                               float* floats, double* doubles) {
    __shared__ int number;
    __shared__ unsigned count;
    __shared__ unsigned long long wide;
    __shared__ float sum;
    __shared__ double precise;
    if (threadIdx.x == 0) {
        number = 0;
        count = 0;
        wide = 0;
        sum = 0.0f;
        precise = 0.0;
    }
    __syncthreads();
    atomicAdd(&number, -1);
    atomicAdd(&count, 1u);
    atomicAdd(&wide, 1ull << 33);
    atomicAdd(&sum, 0.5f);
    atomicAdd(&precise, 0.25);
    __threadfence_block();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(ints, number);
        atomicAdd(unsigneds, count);
        atomicAdd(longs, wide);
        atomicAdd(floats, sum);
        atomicAdd(doubles, precise);
    }
    __threadfence();
    atomicAdd(&taken[1 + atomicAdd(taken, 1)], 1);
}

__global__ void more_atomics_kernel(int* out) {
    const int t = threadIdx.x;
    if (t == 0) out[7] = -1;
    __syncthreads();
    atomicSub(out, 1);
    atomicMin(out + 1, -t);
    atomicMax(out + 2, t);
    atomicInc(reinterpret_cast<unsigned*>(out + 3), 9u);
    atomicDec(reinterpret_cast<unsigned*>(out + 4), 9u);
    atomicOr(out + 5, 1 << t % 31);
    if (t < 3) atomicXor(out + 6, 1 << t);
    atomicAnd(out + 7, ~(1 << t % 8));
    for (int old = 0, assumed = -1; old != assumed;) {
        assumed = old;
        old = atomicCAS(out + 8, assumed, assumed + 2);
    }
    atomicAdd(out + 10, atomicExch(out + 9, t));
}

}  // namespace

void indices(dim3 grid, dim3 block, int* out) {
    write_indices<<<grid, block>>>(out);
}

void shuffles(int threads, unsigned mask, int width, int* out) {
    shuffle<<<1, threads>>>(mask, width, out);
}

void divergent_halves(int* out) {
    halves<<<1, 32>>>(out);
}

void wide_shuffles(double* out) {
    wide<<<1, 32>>>(out);
}

void block_sums(int blocks, int threads, const float* in, float* out) {
    sum_of_block<<<blocks, threads>>>(in, out);
}

void reverse(int blocks, int threads, const float* in, float* out) {
    reverse_block<<<blocks, threads, threads * sizeof(float)>>>(in, out);
}

void double_float4(int n, const float4* in, float4* out) {
    twice<<<(n + 127) / 128, 128>>>(n, in, out);
}

void neighbors(int* out) {
    pass_on<<<1, 32>>>(out);
}

void meet_after_exits(unsigned* out) {
    meet_after_exits_kernel<<<1, 32>>>(out);
}

void barrier_votes(int threads, int modulus, int* out) {
    barrier_votes_kernel<<<1, threads>>>(modulus, out);
}

void active_masks(unsigned* out) {
    active_masks_kernel<<<1, 32>>>(out);
}

void functions(float x, float y, int i, int j, unsigned u, double* out) {
    functions_kernel<<<1, 1>>>(x, y, i, j, u, out);
}

void atomics(int blocks, int threads, int* taken, int* ints, unsigned* unsigneds, unsigned long long* longs,
             float* floats, double* doubles) {
    atomics_kernel<<<blocks, threads>>>(taken, ints, unsigneds, longs, floats, doubles);
}

void more_atomics(int* out) {
    more_atomics_kernel<<<1, 64>>>(out);
}

}  // namespace kernels
