// Host functions around the kernels that the tracer is tested with: each launches one kernel on device
// memory. What a test expects at a line it finds by a comment at the line's end, "// LINE <name>".
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace traced {

// ---- tiles.cu: what later lessons do, small enough to count by hand ----

/// C = A·B, all row-major with tight pitches, by blocks of 256 threads that make 64×64 elements in steps of
/// 16: 4×4 elements per thread, float4 loads from global and shared memory, A transposed on its way to shared
/// memory (rows there `padding` floats longer: 0 or 4), two buffers and one barrier per step. M, N multiples
/// of 64, K of 16.
void block_tile(int padding, int M, int N, int K, const float* A, const float* B, float* C);

// ---- findings.cu: one mistake each. Blocks of 64 threads. ----

enum class Race {
    none,              // the first warp writes, the second reads, a barrier in between
    write_read,        // the same without a barrier
    read_write,        // the first warp reads, the second writes
    write_write,       // both write
    in_warp,           // neighboring lanes exchange without __syncwarp()
    in_warp_met,       // and with it
    halves_met,        // half warps meet, and then lanes of different halves exchange
    same_half_met,     // half warps meet, and then lanes of one half exchange
    reader_forgotten,  // a lane of the other warp reads among others that read before and after it
    many_readers,      // everyone reads one element, and then one thread writes it
    other_bytes,       // the warps write different bytes of the same words
    in_dynamic,        // write_read in dynamic shared memory
    after_a_barrier,   // right before the barrier, write_read after it
};
/// out: 64 floats. `rounds` times the same, with a barrier after each round.
void race(Race kind, int blocks, int rounds, float* out);

/// 64 threads of each block exchange, and only those of block `which` without a barrier. out: blocks × 64.
void one_races(int which, int blocks, float* out);

/// Thread 0 stores two parts of shared memory by the copy engine, a group each, waits until the first has
/// been read, and writes to part `again`. out: 64 floats.
void bulk_stores(int again, float* out);

/// Thread 0 reads the last of 64 floats, which nobody has written; out: 64 floats.
void uninitialised(float* out);
/// The same in dynamic shared memory, and a float of which two bytes were written.
void half_initialised(float* out);

/// Two static arrays of 64 floats. Thread t writes first[t + shift] or second[t + shift], and
/// reads [63 - t + shift] of it after a barrier.
void static_overflow(bool second, int shift, float* out);
/// The same with dynamic shared memory of 64 floats.
void dynamic_overflow(int shift, float* out);
/// The same, which stays inside, with a launch that asks for none.
void dynamic_unasked(float* out);
/// Thread 0 writes `bytes` bytes behind the start of a static array of 64 floats.
void far_write(std::int64_t bytes, float* out);

/// All count in shared memory by atomicAdd, but where `plainly` thread 40, who adds without; then adds the
/// count to *out.
void counter(bool plainly, int* out);

/// Thread t reads in[t + shift], multiplies it by 0, and adds it to out[t].
void read_shifted(int shift, const float* in, float* out);

/// Thread 0 writes matrix[row·pitch + col], and reads it where `read`.
void touch(bool read, std::int64_t row, std::int64_t col, std::int64_t pitch, float* matrix, float* out);

/// Thread t copies in[t] to out[t], wherever `in` points.
void copy(const float* in, float* out);

/// Thread t reads in[t] by __ldg() and in[63 - t] in a function of the kernel's, and writes the sum.
void read_through(const float* in, float* out);

/// Thread t copies 4 floats from in + 4t + shift, or 2 from in + 2t + shift, to the aligned place in `out`.
void copy_float4(int shift, const float* in, float* out);
void copy_float2(int shift, const float* in, float* out);
/// Thread t copies the t-th group of 3 floats, which needs no alignment beyond 4 bytes.
void copy_float3(const float3* in, float3* out);

struct Eight {
    float value[8];
};
/// Thread t copies the t-th group of 8 floats.
void copy_eight(const Eight* in, Eight* out);

/// out[t] = t, and then one lane waits at a barrier instead of coming to a shuffle, or half of the threads
/// not to a barrier.
void deadlock(float* out);
void divergent_barrier(float* out);

// ---- grouping.cu: threads of a warp that go different ways. One block of `threads` threads. ----

/// Lane l adds in[32·i + l] for i < (l < first ? longer : shorter), and writes the sum.
void trip_counts(int threads, int first, int longer, int shorter, const float* in, float* out);
/// Lanes below `present` do `steps` steps.
void guarded(int threads, int present, int steps, const float* in, float* out);
/// Lane 3 leaves out step 1 of four.
void skips_one(const float* in, float* out);
/// Lane l leaves out step l of 32: every lane as many steps as the others, and never the same ones.
void skips_own(const float* in, float* out);
/// Even and odd lanes read at different lines, three times each.
void branches(const float* in, float* out);
/// Two warps take turns: of each a lane arrives at the mbarrier that the other waits at, and all lanes store
/// one float of the round's 64.
void in_turns(int rounds, float* out);

// ---- copies.cu: cp.async. Blocks of 64 threads. ----

enum class Copying {
    right,           // start, commit, wait, barrier, read another thread's
    no_wait,         // without the wait
    no_commit,       // without the commit: there is no group to wait for
    wait_too_few,    // two groups, a wait for the first of them, and a read of the second
    wait_enough,     // the same with a read of the first
    no_barrier,      // a wait, and no barrier
    own,             // no barrier either, but everyone reads his own
    overwritten,     // the other warp still reads where the copy goes
    written_over,    // a store to where a copy is under way
    over_the_end,    // the last copy leaves the array
    source_outside,  // the last copy reads behind `in`
};
/// Thread t copies floats 4t … 4t + 3 of `in` (256 of them); out[t]: what it read of another's.
void copying(Copying kind, const float* in, float* out);

/// Thread t copies `valid` bytes of 16, and writes all 16 to out[4t …].
void fill(int valid, const float* in, float* out);

/// A ring of three stages: sums `tiles` tiles of 256 floats element by element; out[t]: the sum of element t.
void ring(int tiles, const float* in, float* out);

// ---- matrices.cu: ldmatrix and wmma on bf16, given as its bits ----

/// One warp copies a tile of 16×64 to shared memory, as it is or swizzled in units of 16 bytes, and reads it
/// at each of 4 steps along its rows by ldmatrix: .x4, .x4.trans, .x2 (16×8) and .x1 (8×8). out[lane]: the
/// sum of everything that the lane got.
void matrix_tile(bool swizzled, const std::uint16_t* in, float* out);

enum class Matrices {
    right,         // store, barrier, read what the other warp stored
    own_warp,      // store, __syncwarp(), read what other lanes stored
    no_syncwarp,   // without it
    stored_after,  // with it, and then a store to what other lanes have just read
    no_barrier,    // read what the other warp stored, without the barrier
    overwritten,   // a store to what the other warp reads, without a barrier
    in_flight,     // read where a cp.async is under way
    unwritten,     // read rows that nobody has stored
    over_the_end,  // the last row is behind the array
};
/// Thread t of two warps stores row t of 64 rows of 8; out[t]: the sum of what it then got by ldmatrix.x4.
void matrices(Matrices kind, const std::uint16_t* in, float* out);

/// out (16×16, tight) = columns 0 … 15 of `in` (16×64), through shared memory of the same pitch, times its
/// columns 16 … 31 from global memory, by wmma.
void wmma_tile(const std::uint16_t* in, float* out);

/// 64 floats are rounded, stored in shared memory by 64 threads, and stored as pairs by 32.
void pairs(const float* in, std::uint16_t* out);

// ---- memory.cu: memcpy() and its like, atomic operations, variables of the device. Blocks of 64 threads.
// ----

/// Thread t copies floats 4t … 4t + 3, but for the last two.
enum class Vectors {
    float4,    // as a float4
    plain,     // by memcpy(), through a variable
    standard,  // by std::memcpy()
    builtin,   // by __builtin_memmove()
    wide,      // 16 floats by memcpy(), through an array
    three,     // 3 floats
};
void vectors(Vectors how, const float* in, float* out);

/// Thread 0 alone, to out + to or from in + from.
enum class Move {
    copy,       // `bytes` by memcpy()
    move,       // by memmove()
    read32,     // 8 floats into an array of its own
    write32,    // and out of one
    fill32,     // by memset()
    to_shared,  // 8 floats to element `to` of a shared array of 64
};
void move(Move how, int from, int to, std::size_t bytes, const float* in, float* out);

/// Every thread of two blocks counts in a variable of the device, and adds to element t + shift of another
/// one, of 64 floats. The count; out[0]: a static variable that each block has raised by one, not atomically.
int variables(int shift, float* out);

/// Block b of `blocks` adds b + 1 to each of c's 64 sums.
enum class Split {
    not_zeroed,        // atomically
    zeroed_by_kernel,  // the same after a kernel that sets c to 0
    zeroed_by_memset,  // after cudaMemsetAsync()
    plain,             // not atomically
    last_wins,         // does not add: writes its part
    same_value,        // every block writes the same
    zeroed_by_first,   // block 0 sets c to 0, the others add
    in_turn,           // not atomically, one block after the other, with fences
};
void split(Split how, int blocks, float* c);

// ---- flags.cu: 64 threads a block; part and c of 64 elements, flags are 0. ----

enum class FlagMistake {
    none,
    none_by_adding,
    none_by_fences,
    none_and_back,  // and the part is used again
    no_barrier_before,
    no_barrier_after,
    relaxed_add,
    plain_store,
    no_fence_after,
    read_early,
    reused_early,
    both_write
};
void flags(FlagMistake mistake, float* part, unsigned* flags, float* c);
/// Each block adds 1 to c when the block before has.
void passed_on(int blocks, unsigned* flag, float* c);
/// The last block adds up all parts; acquires: as it comes last, else it knows that by fences of the others
/// alone.
void last_adds(bool acquires, int blocks, float* parts, unsigned* count, float* c);

/// Minimum, maximum, bits and a lock in shared memory. out[0]: whether all came out right.
void shared_atomics(int* out);

/// Host code that was compiled as kernels are, with hooks: how often it has been called.
int launches_so_far();
/// Whether every atomic operation does what it says, of 1 to 16 bytes.
bool host_atomics();

}  // namespace traced
