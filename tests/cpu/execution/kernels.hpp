// Host functions around the test kernels: each launches one kernel on device memory and returns at once,
// unless said otherwise. Launch errors stay in cudaGetLastError().
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kernels {

// ---- semantics.cu: what a kernel may rely on, on either device ----

/// out: 12 ints per thread of the grid, in the order of the linear block and thread index: threadIdx,
/// blockIdx, blockDim, gridDim.
void indices(dim3 grid, dim3 block, int* out);

constexpr int kShuffles = 8;
/// One block of `threads` threads. Every thread takes part with `mask` if it is in it. out[op·threads +
/// thread] is what operation op gave: __shfl_sync from lane 5 + lane, __shfl_up_sync by 3, __shfl_down_sync
/// by 2, __shfl_xor_sync with 5 (each with `width`; the value is 100 + thread); __ballot_sync of lanes
/// divisible by 3; __any_sync of lane == 4;
/// __all_sync of lane < 40; __all_sync of lane != 4.
void shuffles(int threads, unsigned mask, int width, int* out);

/// Even and odd lanes of one warp shuffle in different branches. out[lane]: the sum over its half of the
/// warp.
void divergent_halves(int* out);

/// The same shuffle with 8-byte and float values. out[0 … 31]: lane 31 − i's value of 1/(1 + lane) as double,
/// and 32 … 63 as float.
void wide_shuffles(double* out);

/// out[block]: the sum of in[block·threads + thread] through static shared memory and barriers.
void block_sums(int blocks, int threads, const float* in, float* out);

/// Each block reverses its `threads` elements through dynamic shared memory.
void reverse(int blocks, int threads, const float* in, float* out);

/// out[i] = 2·in[i] for n float4.
void double_float4(int n, const float4* in, float4* out);

/// One warp passes values round through shared memory with __syncwarp(): out[lane] = (lane + 1) mod 32.
void neighbors(int* out);

/// One warp of which lanes below 4 return first and those from 20 on while the others wait. The others meet
/// with masks of whole warps: out[lane] is the ballot of all, and out[32 + lane] lane 4's `lane`; 0 for those
/// that returned.
void meet_after_exits(unsigned* out);

/// One block of `threads` threads; out[3·thread …]: __syncthreads_count, _and and _or of thread % modulus ==
/// 0.
void barrier_votes(int threads, int modulus, int* out);

/// One warp: out[lane] is __activemask() where all are, and out[32 + lane] in a branch of lanes below 8.
void active_masks(unsigned* out);

constexpr int kFunctions = 20;
/// What one thread gets, each as a double: min(i, j), max(i, j), min(i, u), max(u, i), min(x, y), max(x, y),
/// min((double)x, y), max(x, (double)y), min((long)i, (long)j), max((long long)i, (unsigned long long)u),
/// fmaf(x, y, 1.5), __fmaf_rn(x, y, 1.5), __fadd_rn(x, y), __fmul_rn(x, y), rsqrtf(x), __popc(u), __clz(i),
/// __ffs(i), __float2int_rn(x) + 1000·__float2int_rz(x), __int2float_rn(i).
void functions(float x, float y, int i, int j, unsigned u, double* out);

/// `blocks` blocks of `threads` threads. Every thread adds 1 to a counter of each type in shared memory, and
/// one of a block adds it to global memory: sums of int, unsigned, unsigned long long, float and double.
/// taken[n] counts how often n was what an atomicAdd of 1 to a common counter returned.
void atomics(int blocks, int threads, int* taken, int* ints, unsigned* unsigneds, unsigned long long* longs,
             float* floats, double* doubles);

/// 64 threads and 11 zeros. out[0 … 8]: −1 by atomicSub() of each; the least −thread; the greatest thread;
/// atomicInc() and atomicDec() up to 9; bits 0 … 30 by atomicOr(); 0b111 by atomicXor(); all but the last 8
/// bits of −1 by atomicAnd(); 2 by atomicCAS() of each. out[9] + out[10]: the sum of all threads, by
/// atomicExch().
void more_atomics(int* out);

// ---- tensor.cu: 16-bit types and tensor cores, one warp each. Compute capability 8.0 and higher. ----

/// The types of 16 bits; in memory as their bits.
enum class Narrow { half, bfloat16 };

/// out[i]: value i rounded to the type, and the type's value of bit pattern i.
void encode(Narrow type, int n, const float* in, std::uint16_t* out);
void decode(Narrow type, int n, float* out);
/// 64 threads: 1 added by each to out[0], and (1, 0.5) to the pair out[2], out[3].
void add_narrow(Narrow type, std::uint16_t* out);
/// Of pairs: out[2·i], out[2·i + 1]: in[2·i] and in[2·i + 1] rounded, stored as one value of two elements.
void encode_pairs(Narrow type, int n, const float* in, std::uint16_t* out);

enum class LdMatrix { x1, x2, x4, x1_trans, x2_trans, x4_trans, x4_trans_pairs };
/// tile: 32 rows of 8 elements, copied to shared memory. Lane l names row rows[l], or no address where it is
/// −1. out[4·l + r]: what register r of it then holds; 0 where the instruction has none.
void ldmatrix(LdMatrix kind, const std::uint16_t* tile, const int* rows, std::uint32_t* out);

/// C = A·B + C by mma_m16n8k16, operands put into registers by the maps of fragments.hpp. A: 16×16, B: 16×8,
/// C: 16×8, row-major, tight.
void mma(Narrow type, const std::uint16_t* A, const std::uint16_t* B, float* C);

/// C = A·B as lesson 09 does it: cp.async to swizzled tiles, ldmatrix, mma. A: 16×64, B: 64×64, C: 16×64,
/// row-major, tight.
void warp_tile(Narrow type, const std::uint16_t* A, const std::uint16_t* B, float* C);

/// C = 2·A·B + C by wmma, the factor put into the fragment of A. A, B and C 16×16 with pitches of 24, 32 and
/// 20 elements, each row-major or (`col`) column-major; from and to shared memory, or global memory.
void wmma(Narrow type, bool shared, bool a_col, bool b_col, bool c_col, const std::uint16_t* A,
          const std::uint16_t* B, float* C);

// ---- limits.cu: launches that CUDA refuses ----

/// Launches a kernel that adds 1 to *count in block (0,0,0), thread (0,0,0). Returns cudaGetLastError().
cudaError_t launch(dim3 grid, dim3 block, std::size_t dynamic_bytes, int* count);

/// The same with blocks of 1024 threads, as a cooperative launch or not. Returns the launch's own error, and
/// leaves it for cudaGetLastError().
cudaError_t launch_together(int blocks, bool cooperative, int* count);
/// How many of them the device holds at once.
int most_together();

/// The same with a kernel that has 16 KiB of static shared memory.
cudaError_t launch_with_static(std::size_t dynamic_bytes, int* count);

/// The same with a kernel that uses `dynamic_bytes` of dynamic shared memory, all of it, after asking for
/// `optin` bytes by cudaFuncSetAttribute (not for 0), whose error it returns when there is one.
cudaError_t launch_with_optin(std::size_t dynamic_bytes, std::size_t optin, int* count);

/// cudaFuncGetAttributes of the kernel with 16 KiB of static shared memory, and of the one with 48 KiB.
cudaFuncAttributes attributes_of_static_16k();
cudaFuncAttributes attributes_of_static_48k();

/// Runs the kernel with 48 KiB of static shared memory.
cudaError_t launch_static_48k(int* count);

// ---- flags.cu and atomic_flags.cu: blocks that wait for each other. Flags are 0 at the beginning. ----

/// values[i]: how many blocks are behind it in the chain, itself included: those after it, which it waits
/// for, or (reverse: false) those before.
void chain(bool reverse, int blocks, int threads, unsigned* flags, int* values);
/// The longer chain in a cooperative launch, in blocks of 1024 threads.
cudaError_t chain_together(int blocks, unsigned* flags, int* values);
/// The same, by atomicAdd() and atomicExch().
void atomic_chain(int blocks, unsigned* flags, int* values);
/// out: of each tile and thread the sum of its n numbers of `in`, by `splits` blocks. parts: tiles × splits ×
/// threads.
void split_sum(int tiles, int splits, int threads, int n, const float* in, float* parts, unsigned* ready,
               float* out);
/// numbers: 2 × blocks. sums of each block: 1 + … + rounds times 0 + … + blocks − 1.
void grid_barrier(int blocks, int rounds, unsigned* arrived, int* numbers, long long* sums);
/// order[i]: the block that began as the i-th.
void places(int blocks, unsigned* counters, int* order);
/// 9 flags; *out is 1 more.
void ways_to_spin(unsigned* flags, int* out);
/// Clusters of two, of which each waits for the next: values[i] is the sum of i, i + 2 and so on.
cudaError_t chained_clusters(int blocks, bool cooperative, unsigned* flags, int* values);
enum class WrongBeside { null_pointer, trap, overrun, recursion, endless_loop, divergent, not_released };
/// Block (0,0,0) waits for block (1,0,0), which goes wrong, in thread (40,0,0). 2 flags.
void wrong_beside(WrongBeside kind, unsigned* flags, int* out);
/// *sum: all threads of `blocks` blocks of 64, each of which takes the lock.
void locked(int blocks, int* lock, int* sum);

// ---- faults.cu: kernels that go wrong, on the CPU device only ----

enum class Fault {
    none,
    missing_lane,
    trap,
    left_out_by_mask,
    different_masks,
    two_collectives,
    returned_before_barrier,
    two_barriers,
    exception,
    null_pointer,
    division_by_zero,
    recursion,
    large_array,
    two_arrays,
    endless_loop,
    endless_barriers,
    wild_pointer,
    past_the_allocation,
    far_past_a_shared_array,
    mma_missing_lane,
    mma_in_branches,
    mma_after_return,
    mma_or_ldmatrix,
    ldmatrix_misaligned,
    ldmatrix_of_global,
    ldmatrix_of_null,
    wmma_addresses,
    wmma_misaligned,
    wmma_pitch,
};

/// 2×3 blocks of 8×4 threads. Block (1,2,0) goes wrong in the given way, if at all, mostly in thread (3,1,0)
/// and with the source line that a comment "LINE <fault>" marks. out[linear block] = 1 for every block whose
/// first thread ends.
void faulty(Fault fault, int* out);

/// Blocks that read their static and dynamic shared memory before anyone has written it, and leave 1.0 there.
/// not_nan[block]: how many words were no NaN, as a float, or as one of two __half or __nv_bfloat16.
void read_unwritten_shared(int blocks, int* not_nan);

/// *out = x·y + z.
void product_and_sum(float x, float y, float z, float* out);

/// mma by a block of 40 threads.
void short_warp(float* out);

/// 49 KiB of static shared memory, which nvcc does not compile.
void too_much_static_shared();

// ---- wrong_calls.cu ----

/// A call with wrong arguments, or one that leads to it: what it answered, what cudaGetLastError() said then,
/// and what CUDA's manual says.
struct WrongCall {
    const char* text;
    cudaError_t answer, last, documented;
};
std::vector<WrongCall> wrong_calls();

// ---- translated.cu: spellings that the translator must get right ----

/// Runs every one of them on device memory; each adds its own power of two to *sum. All of them:
/// kAllSpellings.
void spellings(int* sum);

/// Two floats go to the middle of a variable of four, of which a kernel makes the last 10 where every other
/// variable is right; four: what it then holds. Once a process.
void symbols(const float* two, float* four);
constexpr int kAllSpellings = (1 << 11) - 1;

}  // namespace kernels
