// What is told of a kernel that is wrong, as ids: JSON carries their names, and nobody needs to look for
// words in a sentence. Each list says a name once; runner/learn/diagnosis.py has words for them, and a test
// holds the two against each other. The sentences that people read are made in words.cpp, and those of the
// tracer's findings in cpu/trace/words.cpp.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "common/error.hpp"

namespace gemm {

// Why there is no result. Those that are not the device's alone:
//   ended_program   launch(), or what it calls, called exit() or abort()
//   threw           launch() or prepare() threw an exception
//   launch_failed   a GPU gave the kernel up
//   no_answer       gemm_exam handed over something else than an answer
//   beyond_allocations  in the device's memory, and nothing that cudaMalloc gave
//   mbarrier_hang   no thread can go on, and some wait at mbarriers: an autopsy of several lines
//   flag_hang       no block can go on, and some wait for others by flags: an autopsy of several lines
//   mbarrier_misused    an instruction that a GPU leaves undefined, or faults at
//   phase_too_early     it completed while bytes were to come that count for it
//   copy_refused    an instruction of the copy engine that a GPU would not execute
//   copy_left_behind    the block ended, and nobody had waited for a copy that it started
//   wgmma_misused   an instruction of a warpgroup that a GPU leaves undefined
//   cluster_misused  an instruction of a cluster that a GPU leaves undefined
//   registers_missing   warpgroups ask for more registers than the block has: a GPU would hang
//   other_stream    a launch's kernels are in streams that do not wait for each other
//   host_access     launch() has read or written device memory itself, or copied it to the host
//   other           what has no id of its own; its sentence says it
#define GEMM_FAULTS(X)    \
    X(endless_loop)       \
    X(divergent_barrier)  \
    X(deadlock)           \
    X(mbarrier_hang)      \
    X(flag_hang)          \
    X(mbarrier_misused)   \
    X(phase_too_early)    \
    X(copy_refused)       \
    X(copy_left_behind)   \
    X(wgmma_misused)      \
    X(cluster_misused)    \
    X(registers_missing)  \
    X(null_pointer)       \
    X(wild_pointer)       \
    X(beyond_allocations) \
    X(division_by_zero)   \
    X(foreign_write)      \
    X(stack_overflow)     \
    X(trap)               \
    X(kernel_threw)       \
    X(threw)              \
    X(ended_program)      \
    X(out_of_memory)      \
    X(launch_refused)     \
    X(launch_failed)      \
    X(no_answer)          \
    X(other_stream)       \
    X(host_access)        \
    X(other)

// What is wrong with a result.
//   elements   some are farther from the reference than rounding explains
//   precision  all are within their bounds, and in the mean too far away
//   padding    written between the rows of C
//   outside    written outside of a matrix
#define GEMM_FAILURES(X) \
    X(elements)          \
    X(precision)         \
    X(padding)           \
    X(outside)

// What wrong values have in common, and where they lie.
#define GEMM_PATTERNS(X)                                                                      \
    X(never_written)                                                                          \
    X(unchanged) /* they hold what was there before */                                        \
    X(pitch)     /* rows of `matrices` are taken for `lengths` long, without their padding */ \
    X(nan)                                                                                    \
    X(nan_with_alpha_zero)                                                                    \
    X(nan_with_beta_zero)                                                                     \
    X(k_tail)          /* the steps from `to` to `of` are missing */                          \
    X(sum_is_zero)     /* in all of C */                                                      \
    X(zero)            /* in part of it */                                                    \
    X(product_missing) /* beta·C alone */                                                    \
    X(last_tile_alone) /* the sum has the steps `from` to `to` */                             \
    X(first_tile_alone)                                                                       \
    X(last_product_alone)                                                                     \
    X(last_step_missing)                                                                      \
    X(first_step_missing)                                                                     \
    X(beta_c_missing)                                                                         \
    X(beta_is_one)                                                                            \
    X(alpha_missing)                                                                          \
    X(alpha_times_c)                                                                          \
    X(inputs_in_bf16)                                                                         \
    X(inputs_in_bf16_cut) /* cut off, not rounded */                                          \
    X(inputs_in_tf32_or_fp16)                                                                 \
    X(inputs_in_tf32)                                                                         \
    X(inputs_in_tf32_cut)                                                                     \
    X(inputs_in_whole_numbers)                                                                \
    X(products_in_whole_numbers)                                                              \
    X(sum_in_whole_numbers)                                                                   \
    X(a_transposed)                                                                           \
    X(a_not_transposed) /* it lies transposed, and is read as if it did not */                \
    X(b_transposed)                                                                           \
    X(b_not_transposed)                                                                       \
    X(a_and_b_transposed)                                                                     \
    X(a_and_b_other_way) /* one of them lies transposed, or both */                           \
    X(c_transposed)                                                                           \
    X(another_problem)      /* of a batch: what they hold is the result of `problem` */       \
    X(few_digits)           /* right but for the last ones */                                 \
    X(short_inputs_or_sum)  /* in the mean only: inputs or accumulator, of FP32 */            \
    X(short_sum)            /* in the mean only: the accumulator, of a short type */          \
    X(everywhere)           /* all of C */                                                    \
    X(one_problem)          /* of a batch: in `problem` alone */                              \
    X(later_problems)       /* of a batch: in others than the first */                        \
    X(last_row_of_tiles)    /* from `row` on */                                               \
    X(last_column_of_tiles) /* from `column` on */                                            \
    X(one_tile)             /* of `tile_rows`×`tile_columns` */                              \
    X(one_row)              /* `row` */                                                       \
    X(one_column)           /* `column` */                                                    \
    X(every_nth_row)        /* `row` modulo `modulo` */                                       \
    X(every_nth_column)

// What the tracer finds.
#define GEMM_FINDINGS(X)                                                                                 \
    X(misaligned_access)                                                                                 \
    X(host_pointer)                                                                                      \
    X(shared_out_of_bounds)                                                                              \
    X(no_dynamic_shared_memory) /* the kernel uses it, launch() asks for none */                         \
    X(copy_in_flight)                                                                                    \
    X(race)                                                                                              \
    X(load_in_flight)  /* of the copy engine, as the next ones */                                        \
    X(load_overwrites) /* what a thread has yet to leave */                                              \
    X(loads_overlap)                                                                                     \
    X(store_in_flight) /* and a thread writes what it reads */                                           \
    X(no_proxy_fence)                                                                                    \
    X(mbarrier_not_begun) /* as far as the thread that uses it can know */                               \
    X(mbarrier_unfenced)                                                                                 \
    X(wgmma_in_flight)                                                                                   \
    X(wgmma_unfenced)                                                                                    \
    X(block_left)       /* one of the cluster, and another reaches into it */                            \
    X(block_race)       /* two blocks write the same element, not the same value */                      \
    X(unordered_blocks) /* of which one writes what the other accesses, in a launch whose blocks wait */ \
    X(store_past_row)                                                                                    \
    X(out_of_bounds)                                                                                     \
    X(write_to_padding)                                                                                  \
    X(write_to_input)                                                                                    \
    X(uninitialised_read)                                                                                \
    X(forbidden_read)                                                                                    \
    X(no_kernel) /* C is right, and kernels have not stored all of it */

#define GEMM_ID_(name) name,
#define GEMM_NAME_(name) #name,
enum class FaultId { GEMM_FAULTS(GEMM_ID_) };
enum class FailureId { GEMM_FAILURES(GEMM_ID_) };
enum class PatternId { GEMM_PATTERNS(GEMM_ID_) };
enum class FindingId { GEMM_FINDINGS(GEMM_ID_) };

/// An id's name, as JSON carries it.
inline const char* name_of(FaultId id) {
    constexpr const char* names[] = {GEMM_FAULTS(GEMM_NAME_)};
    return names[static_cast<std::size_t>(id)];
}
inline const char* name_of(FailureId id) {
    constexpr const char* names[] = {GEMM_FAILURES(GEMM_NAME_)};
    return names[static_cast<std::size_t>(id)];
}
inline const char* name_of(PatternId id) {
    constexpr const char* names[] = {GEMM_PATTERNS(GEMM_NAME_)};
    return names[static_cast<std::size_t>(id)];
}
inline const char* name_of(FindingId id) {
    constexpr const char* names[] = {GEMM_FINDINGS(GEMM_NAME_)};
    return names[static_cast<std::size_t>(id)];
}
#undef GEMM_ID_
#undef GEMM_NAME_

/// Exit status of the programs.
enum Exit { kRight = 0, kWrong = 1, kCouldNotRun = 2 };

struct Autopsy;

/// A kernel, or what launches it, came to no result. what() is the sentence that tells it.
struct Fault : Error {
    Fault(FaultId fault, const std::string& text, std::shared_ptr<const Autopsy> hang = {})
        : Error(text), id(fault), autopsy(std::move(hang)) {}
    FaultId id;
    std::shared_ptr<const Autopsy> autopsy;  // of an mbarrier_hang (autopsy.hpp)
};

/// Of what a launch has thrown.
inline FaultId fault_of(const std::exception& error) {
    if (const auto* fault = dynamic_cast<const Fault*>(&error)) return fault->id;
    if (const auto* cuda = dynamic_cast<const CudaError*>(&error)) {
        return cuda->status == cudaErrorMemoryAllocation ? FaultId::out_of_memory : FaultId::other;
    }
    return dynamic_cast<const Error*>(&error) != nullptr ? FaultId::other : FaultId::threw;
}

/// In a catch (...), as a fault, what has been thrown. `threw` begins the sentence about what is no Error:
/// "launch() of 03_smem threw an exception".
inline Fault caught(const std::string& threw) {
    try {
        throw;
    } catch (const Error& error) {
        const auto* const fault = dynamic_cast<const Fault*>(&error);
        return {fault_of(error), error.what(), fault != nullptr ? fault->autopsy : nullptr};
    } catch (const std::exception& error) {
        return {FaultId::threw, threw + ": " + error.what() + "."};
    } catch (...) {
        return {FaultId::threw, threw + "."};
    }
}

}  // namespace gemm
