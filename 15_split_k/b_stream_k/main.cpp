// Makes lesson 15b a program of its own: build/<device>/bin/15b_stream_k --help
#include "common/program/harness.hpp"

namespace lesson_15b {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_15b::lesson);
}
