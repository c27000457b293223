// lesson_main(): what makes a lesson a program. Options → verify → time → report.
#pragma once

namespace gemm {

struct Lesson;

/// Exit status: 0 everything asked for succeeded, 1 the kernel is wrong, 2 it could not be run (bad options,
/// no device, no memory, a GPU too old, an error in the kernel). Prints one sentence to stderr for 2.
int lesson_main(int argc, char** argv, const Lesson& lesson);

}  // namespace gemm
