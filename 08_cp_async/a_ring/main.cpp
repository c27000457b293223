// Makes lesson 08a a program of its own: build/<device>/bin/08a_ring --help
#include "common/program/harness.hpp"

namespace lesson_08a {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_08a::lesson);
}
