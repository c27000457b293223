// Makes lesson 09d a program of its own: build/<device>/bin/09d_read_ahead --help
#include "common/program/harness.hpp"

namespace lesson_09d {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_09d::lesson);
}
