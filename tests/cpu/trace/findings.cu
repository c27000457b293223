// Kernels with one mistake each, which the tracer must find at the marked lines.
#include "tests/cpu/trace/kernels.hpp"

namespace traced {
namespace {

constexpr int kThreads = 64;

__global__ void race_kernel(Race kind, int rounds, float* out) {
    __shared__ float exchange[kThreads];
    __shared__ unsigned short halves[kThreads];
    extern __shared__ float dynamic[];
    const int t = threadIdx.x;
    const bool first = t < 32;
    exchange[t] = 0.0f;
    halves[t] = 0;
    dynamic[t] = 0.0f;
    __syncthreads();
    float seen = 0.0f;
    for (int round = 0; round < rounds; ++round) {
        switch (kind) {
            case Race::none:
                if (first) exchange[t] = 1.0f;
                __syncthreads();
                if (!first) seen = exchange[t - 32];
                break;
            case Race::write_read:
                if (first) exchange[t] = 1.0f;        // LINE write_read-write
                if (!first) seen = exchange[t - 32];  // LINE write_read-read
                break;
            case Race::read_write:
                if (first) seen = exchange[t + 32];  // LINE read_write-read
                if (!first) exchange[t] = 1.0f;      // LINE read_write-write
                break;
            case Race::write_write:
                if (first) exchange[t] = 1.0f;        // LINE write_write-first
                if (!first) exchange[t - 32] = 1.0f;  // LINE write_write-second
                break;
            case Race::in_warp:
                exchange[t] = 1.0f;      // LINE in_warp-write
                seen = exchange[t ^ 1];  // LINE in_warp-read
                break;
            case Race::in_warp_met:
                exchange[t] = 1.0f;
                __syncwarp();
                seen = exchange[t ^ 1];
                break;
            case Race::halves_met:
                exchange[t] = 1.0f;  // LINE halves_met-write
                __syncwarp(t % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
                seen = exchange[t ^ 16];  // LINE halves_met-read
                break;
            case Race::same_half_met:
                exchange[t] = 1.0f;
                __syncwarp(t % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
                seen = exchange[t ^ 1];
                break;
            case Race::reader_forgotten:
                seen = exchange[5];  // LINE reader_forgotten-read
                if (!first) {
                    __syncwarp();
                    if (t == 63) exchange[5] = 1.0f;  // LINE reader_forgotten-write
                }
                break;
            case Race::many_readers:
                seen = exchange[5];               // LINE many_readers-read
                if (t == 63) exchange[5] = 1.0f;  // LINE many_readers-write
                break;
            case Race::other_bytes:
                halves[t % 32 * 2 + t / 32] = 1;
                __syncthreads();
                seen = halves[t];
                break;
            case Race::in_dynamic:
                if (first) dynamic[t] = 1.0f;        // LINE in_dynamic-write
                if (!first) seen = dynamic[t - 32];  // LINE in_dynamic-read
                break;
            case Race::after_a_barrier:
                if (first) exchange[t] = 1.0f;
                __syncthreads();
                if (!first) seen = exchange[t - 32];
                __syncthreads();
                if (first) exchange[t] = 2.0f;        // LINE after_a_barrier-write
                if (!first) seen = exchange[t - 32];  // LINE after_a_barrier-read
                break;
        }
        __syncthreads();
    }
    out[t] = seen;
}

__global__ void uninitialised_kernel(float* out) {
    __shared__ float partly[kThreads];
    const int t = threadIdx.x;
    if (t != 63) partly[t] = 1.0f;
    __syncthreads();
    out[t] = partly[63 - t];  // LINE uninitialised
}

__global__ void half_initialised_kernel(float* out) {
    extern __shared__ unsigned short halves[];
    const int t = threadIdx.x;
    halves[2 * t] = 1;
    if (t != 7) halves[2 * t + 1] = 1;
    __syncthreads();
    out[t] = reinterpret_cast<const float*>(halves)[t];  // LINE half_initialised
}

__global__ void static_overflow_kernel(bool which, int shift, float* out) {
    __shared__ float first[kThreads];
    __shared__ float second[kThreads];
    const int t = threadIdx.x;
    first[t] = second[t] = 0.0f;
    __syncthreads();
    if (which) {
        second[t + shift] = 1.0f;  // LINE second-write
    } else {
        first[t + shift] = 1.0f;  // LINE first-write
    }
    __syncthreads();
    if (which) {
        out[t] = second[63 - t + shift];  // LINE second-read
    } else {
        out[t] = first[63 - t + shift];  // LINE first-read
    }
}

__global__ void dynamic_overflow_kernel(int shift, float* out) {
    extern __shared__ float dynamic[];
    const int t = threadIdx.x;
    dynamic[t + shift] = 1.0f;  // LINE dynamic-write
    out[t] = 1.0f;
}

__global__ void far_write_kernel(std::int64_t bytes, float* out) {
    __shared__ float tile[kThreads];
    const int t = threadIdx.x;
    tile[t] = 1.0f;
    if (t == 0) *reinterpret_cast<float*>(reinterpret_cast<char*>(tile) + bytes) = 1.0f;  // LINE far-write
    out[t] = tile[t];
}

__global__ void counter_kernel(bool plainly, int* out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (plainly && threadIdx.x == 40) {
        count += 1;  // LINE counter-plain
    } else {
        atomicAdd(&count, 1);  // LINE counter-atomic
    }
    __threadfence_block();
    __threadfence();
    __syncthreads();
    atomicAdd(out, threadIdx.x == 0 ? count : 0);  // LINE counter-global
}

__global__ void read_shifted_kernel(int shift, const float* in, float* out) {
    const int t = threadIdx.x;
    out[t] += 0.0f * in[t + shift];  // LINE read_shifted
}

__global__ void touch_kernel(bool read, std::int64_t row, std::int64_t col, std::int64_t pitch, float* matrix,
                             float* out) {
    if (threadIdx.x != 0) return;
    if (read) {
        *out = matrix[row * pitch + col];  // LINE touch-read
    } else {
        matrix[row * pitch + col] = 1.0f;  // LINE touch-write
    }
}

__global__ void copy_kernel(const float* in, float* out) {
    out[threadIdx.x] = in[threadIdx.x];  // LINE copy
}

__device__ float helper(const float* in) {
    return *in;  // LINE helper
}

__global__ void read_through_kernel(const float* in, float* out) {
    const float first = __ldg(in + threadIdx.x);                       // LINE ldg
    __stcs(out + threadIdx.x, first + helper(in + 63 - threadIdx.x));  // LINE stcs
}

template <class T>
__global__ void copy_vector_kernel(int shift, const float* in, float* out) {
    constexpr int kFloats = sizeof(T) / sizeof(float);
    const int t = threadIdx.x;
    const T value = *reinterpret_cast<const T*>(in + kFloats * t + shift);  // LINE vector-read
    reinterpret_cast<T*>(out)[t] = value;                                   // LINE vector-write
}

template <class T>
__global__ void copy_group_kernel(const T* in, T* out) {
    out[threadIdx.x] = in[threadIdx.x];  // LINE group
}

__global__ void deadlock_kernel(float* out) {
    const int t = threadIdx.x;
    out[t] = static_cast<float>(t);  // LINE deadlock-before
    if (t == 3) __syncthreads();
    out[t] = __shfl_sync(0xffffffffu, out[t], 0);  // LINE deadlock
}

__global__ void divergent_barrier_kernel(float* out) {
    __shared__ float tile[kThreads];
    const int t = threadIdx.x;
    tile[t] = 1.0f;  // LINE divergent-before
    if (t < 32) {
        __syncthreads();  // LINE divergent-one
    } else {
        __syncthreads();  // LINE divergent-other
    }
    out[t] = tile[t];
}

__global__ void one_races_kernel(int which, float* out) {
    __shared__ float values[64];
    const int t = threadIdx.x;
    values[t] = static_cast<float>(t);
    if (static_cast<int>(blockIdx.x) != which) __syncthreads();
    out[blockIdx.x * 64 + t] = values[63 - t];
}

}  // namespace

void race(Race kind, int blocks, int rounds, float* out) {
    race_kernel<<<blocks, kThreads, kThreads * sizeof(float)>>>(kind, rounds, out);
}
void one_races(int which, int blocks, float* out) {
    one_races_kernel<<<static_cast<unsigned>(blocks), 64>>>(which, out);
}

void uninitialised(float* out) {
    uninitialised_kernel<<<1, kThreads>>>(out);
}
void half_initialised(float* out) {
    half_initialised_kernel<<<1, kThreads, kThreads * sizeof(float)>>>(out);
}
void static_overflow(bool second, int shift, float* out) {
    static_overflow_kernel<<<1, kThreads>>>(second, shift, out);
}
void dynamic_overflow(int shift, float* out) {
    dynamic_overflow_kernel<<<1, kThreads, kThreads * sizeof(float)>>>(shift, out);
}
void read_shifted(int shift, const float* in, float* out) {
    read_shifted_kernel<<<1, kThreads>>>(shift, in, out);
}
void dynamic_unasked(float* out) {
    dynamic_overflow_kernel<<<1, kThreads>>>(0, out);
}
void far_write(std::int64_t bytes, float* out) {
    far_write_kernel<<<1, kThreads>>>(bytes, out);
}
void counter(bool plainly, int* out) {
    counter_kernel<<<1, kThreads>>>(plainly, out);
}
void touch(bool read, std::int64_t row, std::int64_t col, std::int64_t pitch, float* matrix, float* out) {
    touch_kernel<<<1, kThreads>>>(read, row, col, pitch, matrix, out);
}
void copy(const float* in, float* out) {
    copy_kernel<<<1, kThreads>>>(in, out);
}
void read_through(const float* in, float* out) {
    read_through_kernel<<<1, kThreads>>>(in, out);
}
void copy_float4(int shift, const float* in, float* out) {
    copy_vector_kernel<float4><<<1, kThreads>>>(shift, in, out);
}
void copy_float2(int shift, const float* in, float* out) {
    copy_vector_kernel<float2><<<1, kThreads>>>(shift, in, out);
}
void copy_float3(const float3* in, float3* out) {
    copy_group_kernel<float3><<<1, kThreads>>>(in, out);
}
void copy_eight(const Eight* in, Eight* out) {
    copy_group_kernel<Eight><<<1, kThreads>>>(in, out);
}
void deadlock(float* out) {
    deadlock_kernel<<<1, kThreads>>>(out);
}
void divergent_barrier(float* out) {
    divergent_barrier_kernel<<<1, kThreads>>>(out);
}

}  // namespace traced
