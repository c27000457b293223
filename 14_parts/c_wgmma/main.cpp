// Makes lesson 14c a program of its own: build/<device>/bin/14c_wgmma --help
#include "common/program/harness.hpp"

namespace lesson_14c {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_14c::lesson);
}
