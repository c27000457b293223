// Lesson 03's kernel with a mistake each, for tests of what the verifier and the tracer say of it, on a GPU,
// too. (Those that each lesson's kernel must not survive are in its mistakes.toml.)
#pragma once

#include "common/gemm.hpp"

#define GEMM_MUTANTS(X)                                        \
    X(beta_times_nan)    /* C is read where beta is 0 */       \
    X(guard_off_by_one)  /* one row and one column too many */ \
    X(no_beta)           /* beta·C is not added */            \
    X(no_first_barrier)  /* behind loading */                  \
    X(no_k_tail)         /* whole tiles along K alone */       \
    X(no_pitch)          /* rows of A are taken for K apart */ \
    X(no_second_barrier) /* behind reading */                  \
    X(nothing_written)                                         \
    X(tf32_inputs)

#define GEMM_MUTANT_(name)                \
    namespace mutant_##name {             \
        extern const gemm::Lesson lesson; \
    }
GEMM_MUTANTS(GEMM_MUTANT_)
#undef GEMM_MUTANT_
