// The mutants, each in the namespace of its file's name.
#pragma once

#include "common/gemm.hpp"

// clang-format off
namespace mutant_no_first_barrier  { extern const gemm::Lesson lesson; }
namespace mutant_no_second_barrier { extern const gemm::Lesson lesson; }
namespace mutant_no_k_tail         { extern const gemm::Lesson lesson; }
namespace mutant_guard_off_by_one  { extern const gemm::Lesson lesson; }
namespace mutant_nothing_written   { extern const gemm::Lesson lesson; }
namespace mutant_no_beta           { extern const gemm::Lesson lesson; }
namespace mutant_beta_times_nan    { extern const gemm::Lesson lesson; }
namespace mutant_tf32_inputs       { extern const gemm::Lesson lesson; }
namespace mutant_no_pitch          { extern const gemm::Lesson lesson; }
// Made by derive.py from the lessons:
namespace mutant_no_barrier_05        { extern const gemm::Lesson lesson; }
namespace mutant_stale_tail_05        { extern const gemm::Lesson lesson; }
namespace mutant_transposed_05        { extern const gemm::Lesson lesson; }
namespace mutant_unaligned_06a        { extern const gemm::Lesson lesson; }
namespace mutant_no_barrier_07        { extern const gemm::Lesson lesson; }
namespace mutant_stage_kept_07        { extern const gemm::Lesson lesson; }
namespace mutant_wait_too_short_08a   { extern const gemm::Lesson lesson; }
namespace mutant_no_zeros_08b         { extern const gemm::Lesson lesson; }
namespace mutant_pitch_09a            { extern const gemm::Lesson lesson; }
namespace mutant_wrong_tile_09a       { extern const gemm::Lesson lesson; }
namespace mutant_row_off_09b          { extern const gemm::Lesson lesson; }
namespace mutant_cols_off_09b         { extern const gemm::Lesson lesson; }
namespace mutant_a_rows_off_09b       { extern const gemm::Lesson lesson; }
namespace mutant_not_transposed_09b   { extern const gemm::Lesson lesson; }
namespace mutant_k_halves_09b         { extern const gemm::Lesson lesson; }
namespace mutant_unaligned_09b        { extern const gemm::Lesson lesson; }
namespace mutant_swizzled_store_09b   { extern const gemm::Lesson lesson; }
namespace mutant_swizzled_load_09b    { extern const gemm::Lesson lesson; }
namespace mutant_swizzled_store_09c   { extern const gemm::Lesson lesson; }
namespace mutant_swizzled_load_09c    { extern const gemm::Lesson lesson; }
namespace mutant_k_steps_09c          { extern const gemm::Lesson lesson; }
namespace mutant_wait_too_short_09c   { extern const gemm::Lesson lesson; }
namespace mutant_no_barrier_09c       { extern const gemm::Lesson lesson; }
namespace mutant_one_group_09d        { extern const gemm::Lesson lesson; }
namespace mutant_parity_10a           { extern const gemm::Lesson lesson; }
namespace mutant_few_bytes_10a        { extern const gemm::Lesson lesson; }
namespace mutant_many_bytes_10a       { extern const gemm::Lesson lesson; }
namespace mutant_released_early_10a   { extern const gemm::Lesson lesson; }
namespace mutant_no_barrier_10a       { extern const gemm::Lesson lesson; }
namespace mutant_box_10a              { extern const gemm::Lesson lesson; }
namespace mutant_swizzle_10a          { extern const gemm::Lesson lesson; }
namespace mutant_one_waits_10b        { extern const gemm::Lesson lesson; }
namespace mutant_released_early_10b   { extern const gemm::Lesson lesson; }
namespace mutant_first_barrier_10b    { extern const gemm::Lesson lesson; }
namespace mutant_one_at_10b           { extern const gemm::Lesson lesson; }
namespace mutant_parity_11a          { extern const gemm::Lesson lesson; }
namespace mutant_few_bytes_11a       { extern const gemm::Lesson lesson; }
namespace mutant_many_bytes_11a      { extern const gemm::Lesson lesson; }
namespace mutant_not_begun_11a       { extern const gemm::Lesson lesson; }
namespace mutant_init_fence_11a      { extern const gemm::Lesson lesson; }
namespace mutant_fence_11a           { extern const gemm::Lesson lesson; }
namespace mutant_wait_11a            { extern const gemm::Lesson lesson; }
namespace mutant_proxy_fence_11a     { extern const gemm::Lesson lesson; }
namespace mutant_swizzle_11a         { extern const gemm::Lesson lesson; }
namespace mutant_strides_11a         { extern const gemm::Lesson lesson; }
namespace mutant_past_atom_11a       { extern const gemm::Lesson lesson; }
namespace mutant_high_box_11a        { extern const gemm::Lesson lesson; }
namespace mutant_wide_box_11a        { extern const gemm::Lesson lesson; }
namespace mutant_parity_11b          { extern const gemm::Lesson lesson; }
namespace mutant_few_bytes_11b       { extern const gemm::Lesson lesson; }
namespace mutant_many_bytes_11b      { extern const gemm::Lesson lesson; }
namespace mutant_not_begun_11b       { extern const gemm::Lesson lesson; }
namespace mutant_init_fence_11b      { extern const gemm::Lesson lesson; }
namespace mutant_released_early_11b  { extern const gemm::Lesson lesson; }
namespace mutant_no_barrier_11b      { extern const gemm::Lesson lesson; }
namespace mutant_fence_11b           { extern const gemm::Lesson lesson; }
namespace mutant_wait_too_short_11b  { extern const gemm::Lesson lesson; }
namespace mutant_wait_11b            { extern const gemm::Lesson lesson; }
namespace mutant_swizzle_11b         { extern const gemm::Lesson lesson; }
namespace mutant_strides_11b         { extern const gemm::Lesson lesson; }
namespace mutant_past_atom_11b       { extern const gemm::Lesson lesson; }
namespace mutant_high_box_11b        { extern const gemm::Lesson lesson; }
// clang-format on
