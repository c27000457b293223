// bin/<lesson>_inspect: gemm_inspect of one lesson, without the check's cases, which it need not wait for.

#include "runner/programs/inspect.hpp"

int main(int argc, char** argv) {
    return gemm::inspect_main(argc, argv, nullptr);
}
