// Makes lesson 09c a program of its own: build/<device>/bin/09c_ring --help
#include "common/program/harness.hpp"

namespace lesson_09c {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_09c::lesson);
}
