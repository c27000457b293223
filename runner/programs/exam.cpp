// gemm_exam: computes the problems of a paper with a learner's kernel. It knows no results and judges
// nothing: gemm_judge does, in a process that the kernel cannot reach.
//
// A library with main(): the runner compiles the learner's file and the list below, and links them with it.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"
#include "common/gemm.hpp"
#include "common/options.hpp"
#include "runner/programs/exam.hpp"

/// Ends with a null pointer. [0] is the learner's lesson.
extern const gemm::Lesson* const gemm_checked[];

namespace {

using gemm::Error;
using gemm::exam::Answer;
using gemm::exam::Matrix;
using gemm::exam::Question;

template <class T>
void read(std::istream& paper, T* data, std::size_t bytes) {
    paper.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(bytes));
    if (!paper) throw Error("The paper ends too early.");
}

void write(int fd, const void* data, std::size_t bytes) {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t n = ::write(fd, at, bytes);
        if (n <= 0) throw Error("An answer cannot be written.");
        at += n;
        bytes -= static_cast<std::size_t>(n);
    }
}

/// A matrix in device memory, as the paper has it.
class OnDevice {
  public:
    OnDevice(std::istream& paper, const Matrix& matrix) : matrix_(matrix) {
        std::vector<std::byte> host(matrix.bytes);
        read(paper, host.data(), host.size());
        CUDA_CHECK(cudaMalloc(&base_, host.size()));
        CUDA_CHECK(cudaMemcpy(base_, host.data(), host.size(), cudaMemcpyHostToDevice));
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    ~OnDevice() { cudaFree(base_); }

    void* data() const { return static_cast<std::byte*>(base_) + matrix_.start; }
    std::vector<std::byte> download() const {
        std::vector<std::byte> host(matrix_.bytes);
        CUDA_CHECK(cudaMemcpy(host.data(), base_, host.size(), cudaMemcpyDeviceToHost));
        return host;
    }

  private:
    Matrix matrix_;
    void* base_ = nullptr;
};

gemm::Variant variant_of(const Question& q) {
    const auto type = [&](int matrix) { return static_cast<gemm::DType>(q.types[matrix]); };
    return {type(0), type(1), type(2), static_cast<gemm::Layout>(q.layout)};
}

/// C's bytes afterwards.
std::vector<std::byte> compute(const gemm::Lesson& lesson, const Question& q, std::istream& paper) {
    const OnDevice a(paper, q.A), b(paper, q.B), c(paper, q.C);
    const gemm::Problem problem{q.M,      q.N,   q.K,    q.alpha,  a.data(), q.lda,
                                b.data(), q.ldb, q.beta, c.data(), q.ldc,    variant_of(q)};
    const gemm::Plan plan = lesson.prepare == nullptr ? nullptr : lesson.prepare(problem);
    lesson.launch(problem, plan.get(), nullptr);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    return c.download();
}

int run(int argc, char** argv) {
    std::string paper_file, answers;
    if (const std::optional<int> status = gemm::parse_options(
            "gemm_exam", "Computes the problems of a paper that gemm_judge wrote.",
            {{"--paper", &paper_file, "the paper", "FILE"},
             {"--answers-fd", &answers, "the open file descriptor that the answers go to"}},
            argc, argv)) {
        return *status;
    }
    const int fd = static_cast<int>(gemm::whole_number("--answers-fd", answers, 0, 1 << 20));
    cpu_device::set_multiprocessors(cpu_device::kFewMultiprocessors);
    std::ifstream paper(paper_file, std::ios::binary);
    std::uint64_t count = 0;
    read(paper, &count, sizeof count);
    for (std::uint64_t i = 0; i < count; ++i) {
        Question q{};
        read(paper, &q, sizeof q);
        std::string error;
        try {
            const std::vector<std::byte> c = compute(*gemm_checked[0], q, paper);
            const Answer answer{i, 0};
            write(fd, &answer, sizeof answer);
            write(fd, c.data(), c.size());
            continue;
        } catch (const std::exception& thrown) {
            error = thrown.what();
        } catch (...) {
            error = "An exception was thrown.";
        }
        error.resize(std::clamp<std::size_t>(error.size(), 1, gemm::exam::kLongestError), '?');
        const Answer answer{i, error.size()};
        write(fd, &answer, sizeof answer);
        write(fd, error.data(), error.size());
        return gemm::kWrong;
    }
    return gemm::kRight;
}

}  // namespace

int main(int argc, char** argv) {
    return gemm::run_program("gemm_exam", [&] { return run(argc, argv); });
}
