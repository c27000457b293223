// Makes lesson 11c a program of its own: build/<device>/bin/11c_wide_stores --help
#include "common/program/harness.hpp"

namespace lesson_11c {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_11c::lesson);
}
