#include <stdexcept>

#include <tools.cuh>

void check_launch(const char* file, int line) {
    if (cudaGetLastError() != cudaSuccess) throw std::runtime_error(file);
}
