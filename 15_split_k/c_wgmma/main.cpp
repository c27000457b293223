// Makes lesson 15c a program of its own: build/<device>/bin/15c_wgmma --help
#include "common/program/harness.hpp"

namespace lesson_15c {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_15c::lesson);
}
