// What a kernel may do to memory beside plain accesses: memcpy() and its like, atomic operations, variables
// of the device; and the host between two launches.
#include <atomic>
#include <cstring>
#include <string>

#include "tests/cpu/trace/kernels.hpp"

namespace traced {
namespace {

constexpr int kThreads = 64;

__global__ void vectors_kernel(Vectors how, const float* in, float* out) {
    const int t = threadIdx.x;
    const float* from = in + 4 * t;
    float* to = out + 4 * t;
    float4 four;
    float some[16];
    switch (how) {
        case Vectors::float4:
            *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);  // LINE float4
            break;
        case Vectors::plain:
            memcpy(&four, from, 16);  // LINE plain-read
            memcpy(to, &four, 16);    // LINE plain-write
            break;
        case Vectors::standard:
            std::memcpy(to, from, sizeof(float4));  // LINE standard
            break;
        case Vectors::builtin:
            __builtin_memmove(to, from, 16);  // LINE builtin
            break;
        case Vectors::wide:
            memcpy(some, in + 16 * t, 64);   // LINE wide-read
            memcpy(out + 16 * t, some, 64);  // LINE wide-write
            break;
        case Vectors::three:
            memcpy(some, in + 3 * t, 12);   // LINE three-read
            memcpy(out + 3 * t, some, 12);  // LINE three-write
            break;
    }
}

__global__ void move_kernel(Move how, int from, int to, std::size_t bytes, const float* in, float* out) {
    __shared__ float tile[kThreads];
    const int t = threadIdx.x;
    tile[t] = 1.0f;
    __syncthreads();
    if (t != 0) return;
    float some[8];
    switch (how) {
        case Move::copy:
            memcpy(out + to, in + from, bytes);  // LINE move-copy
            break;
        case Move::move:
            memmove(out + to, in + from, bytes);  // LINE move-move
            break;
        case Move::read32:
            memcpy(some, in + from, 32);  // LINE move-read32
            out[to] = some[0];
            break;
        case Move::write32:
            for (float& s : some) s = 2.0f;
            memcpy(out + to, some, 32);  // LINE move-write32
            break;
        case Move::fill32:
            memset(out + to, 0, 32);  // LINE move-fill32
            break;
        case Move::to_shared:
            memcpy(tile + to, in + from, 32);  // LINE move-to_shared
            break;
    }
}

__device__ int ticket;
__device__ float partial[kThreads] = {1.0f, 2.0f};
static __device__ unsigned long long sums[2];
__constant__ float scale;
__constant__ const float offset = 0.5f;

__device__ int calls_so_far() {
    static int calls;
    return ++calls;  // LINE static-of-helper
}

__global__ void variables_kernel(int shift, float* out) {
    static int launches;
    const int t = threadIdx.x;
    if (t == 0) ++launches;
    if (t == 0 && calls_so_far() < 1) return;
    atomicAdd(&ticket, 1);  // LINE ticket
    atomicAdd(&sums[1], 1ull);
    partial[t + shift] += scale * 2.0f + offset;  // LINE partial
    __syncthreads();
    if (t == 0) out[0] = static_cast<float>(launches);
}

__global__ void zero_kernel(int count, float* c) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) c[i] = 0.0f;
}
/// Every block adds its part of each of 64 sums.
__global__ void split_kernel(Split how, float* c) {
    const int t = threadIdx.x;
    const float part = 1.0f + blockIdx.x;
    switch (how) {
        case Split::not_zeroed:
        case Split::zeroed_by_kernel:
        case Split::zeroed_by_memset:
            atomicAdd(c + t, part);  // LINE split-atomic
            break;
        case Split::plain:
            c[t] += part;  // LINE split-plain
            break;
        case Split::last_wins:
            c[t] = part;  // LINE split-last
            break;
        case Split::same_value:
            c[t] = 3.0f;
            break;
        case Split::zeroed_by_first:
            if (blockIdx.x == 0) c[t] = 0.0f;
            if (blockIdx.x != 0) atomicAdd(c + t, part);  // LINE split-first
            break;
        case Split::in_turn:
            if (t == 0) {
                while (atomicAdd(&ticket, 0) != static_cast<int>(blockIdx.x)) {
                }
            }
            __syncthreads();
            __threadfence();
            if (blockIdx.x == 0) c[t] = 0.0f;
            c[t] += part;
            __threadfence();
            __syncthreads();
            if (t == 0) atomicAdd(&ticket, 1);
            break;
    }
}

__global__ void shared_atomics_kernel(int* out) {
    __shared__ int lowest, highest;
    __shared__ unsigned bits, lock;
    const int t = threadIdx.x;
    if (t == 0) {
        lowest = 1000;
        highest = -1000;
        bits = lock = 0;
    }
    __syncthreads();
    atomicMin(&lowest, 100 - t);
    atomicMax(&highest, t);
    atomicOr(&bits, 1u << t % 32);
    atomicCAS(&lock, 0u, 1u);
    __syncthreads();
    if (t == 0) out[0] = lowest == 37 && highest == 63 && bits == ~0u && lock == 1;
}

template <class T>
bool atomics_of() {
    T x = 5;
    bool right = __atomic_load_n(&x, __ATOMIC_ACQUIRE) == 5;
    __atomic_store_n(&x, T{6}, __ATOMIC_RELEASE);
    right &= __atomic_exchange_n(&x, T{7}, __ATOMIC_ACQ_REL) == 6;
    right &= __atomic_fetch_add(&x, T{5}, __ATOMIC_RELAXED) == 7;
    right &= __atomic_fetch_sub(&x, T{2}, __ATOMIC_RELAXED) == 12;
    right &= __atomic_fetch_and(&x, T{14}, __ATOMIC_RELAXED) == 10;
    right &= __atomic_fetch_or(&x, T{5}, __ATOMIC_RELAXED) == 10;
    right &= __atomic_fetch_xor(&x, T{1}, __ATOMIC_RELAXED) == 15;
    right &= __atomic_fetch_nand(&x, T{6}, __ATOMIC_RELAXED) == 14;
    right &= x == static_cast<T>(~T{6});
    T expected = 1;
    right &= !__atomic_compare_exchange_n(&x, &expected, T{2}, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    right &= expected == x;
    right &=
        __atomic_compare_exchange_n(&x, &expected, T{2}, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) && x == 2;
    right &= __sync_val_compare_and_swap(&x, T{2}, T{3}) == 2 && x == 3;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return right;
}

}  // namespace

void vectors(Vectors how, const float* in, float* out) {
    vectors_kernel<<<1, kThreads>>>(how, in, out);
}
void move(Move how, int from, int to, std::size_t bytes, const float* in, float* out) {
    move_kernel<<<1, kThreads>>>(how, from, to, bytes, in, out);
}
int variables(int shift, float* out) {
    const int none = 0;
    const float two = 2.0f;
    cudaMemcpyToSymbol(ticket, &none, sizeof none);
    cudaMemcpyToSymbolAsync(scale, &two, sizeof two, 0, cudaMemcpyHostToDevice, nullptr);
    variables_kernel<<<2, kThreads>>>(shift, out);
    int drawn = 0;
    cudaMemcpyFromSymbol(&drawn, ticket, sizeof drawn);
    return drawn;
}
void split(Split how, int blocks, float* c) {
    const int none = 0;
    cudaMemcpyToSymbol(ticket, &none, sizeof none);
    if (how == Split::zeroed_by_kernel) zero_kernel<<<2, 32>>>(kThreads, c);
    if (how == Split::zeroed_by_memset || how == Split::plain)
        cudaMemsetAsync(c, 0, kThreads * sizeof(float));
    split_kernel<<<blocks, kThreads>>>(how, c);
}
void shared_atomics(int* out) {
    shared_atomics_kernel<<<1, kThreads>>>(out);
}
int launches_so_far() {
    static std::atomic<int> calls{0};
    static const std::string name = "made when it is first needed, and too long to be kept in place";
    return name.empty() ? 0 : ++calls;
}
bool host_atomics() {
    __extension__ using Widest = unsigned __int128;
    return atomics_of<std::uint8_t>() && atomics_of<std::uint16_t>() && atomics_of<std::uint32_t>() &&
           atomics_of<std::uint64_t>() && atomics_of<Widest>();
}

}  // namespace traced
