// gemm_exam: computes the problems of a paper with a learner's kernel. It knows no results and judges
// nothing: gemm_judge does, in a process that the kernel cannot reach.
//
// A library with main(): the runner compiles the learner's file and the list below, and links them with it.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/check/calls.hpp"
#include "common/check/operands.hpp"
#include "common/check/variant.hpp"
#include "common/check/workload.hpp"
#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"
#include "common/gemm.hpp"
#include "common/program/options.hpp"
#include "runner/programs/conditions.hpp"
#include "runner/programs/earlier.hpp"
#include "runner/programs/exam.hpp"
#include "runner/programs/own_stream.hpp"

/// Ends with a null pointer. [0] is the learner's lesson.
extern const gemm::Lesson* const gemm_checked[];

namespace {

using gemm::Error;
using gemm::exam::Answer;
using gemm::exam::Matrix;
using gemm::exam::Question;
using gemm::exam::Sizes;

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
        const std::size_t skipped = (matrix.rows - 1) * matrix.gap, bytes = matrix.bytes + skipped;
        CUDA_CHECK(skipped > 0 ? cpu_device::reserve(&base_, bytes) : cudaMalloc(&base_, bytes));
        fill(paper);
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    ~OnDevice() { cudaFree(base_); }

    void fill(std::istream& paper) {
        std::vector<std::byte> host(matrix_.bytes);
        read(paper, host.data(), host.size());
        given_ = host;
        pieces([&](std::size_t packed, std::size_t device, std::size_t n) {
            CUDA_CHECK(cudaMemcpy(at(device), host.data() + packed, n, cudaMemcpyHostToDevice));
        });
    }
    void* data() const { return at(matrix_.start); }
    /// As it was before anything was computed.
    const std::vector<std::byte>& given() const { return given_; }
    std::vector<std::byte> download() const {
        std::vector<std::byte> host(matrix_.bytes);
        pieces([&](std::size_t packed, std::size_t device, std::size_t n) {
            CUDA_CHECK(cudaMemcpy(host.data() + packed, at(device), n, cudaMemcpyDeviceToHost));
        });
        return host;
    }

  private:
    std::byte* at(std::size_t offset) const { return static_cast<std::byte*>(base_) + offset; }
    /// Calls copy(packed, device, bytes) for what lies in one piece: bytes of the paper and of the
    /// allocation.
    template <class Copy>
    void pieces(const Copy& copy) const {
        for (std::size_t r = 0, packed = 0; r < matrix_.rows; ++r) {
            const bool last = r + 1 == matrix_.rows;
            const std::size_t end = last ? matrix_.bytes : matrix_.start + (r + 1) * matrix_.row;
            copy(packed, packed + r * matrix_.gap, end - packed);
            packed = end;
        }
    }

    Matrix matrix_;
    std::vector<std::byte> given_;
    void* base_ = nullptr;
};

/// Without its matrices; its groups are read. Throws Error where it is none.
gemm::Problem problem_of(const Question& q, std::istream& paper) {
    const std::string text(q.variant, strnlen(q.variant, sizeof q.variant));
    const std::optional<gemm::Variant> variant = gemm::variant_named(text);
    if (!variant) throw Error("The paper's variant is none.");
    gemm::Shape s{q.M, q.N, q.K, q.lda, q.ldb, q.ldc, q.lds, q.ldr, q.ldd, q.alpha, q.beta, *variant};
    s.batch = q.batch;
    s.stride_a = q.stride_a, s.stride_b = q.stride_b, s.stride_c = q.stride_c, s.stride_d = q.stride_d;
    for (std::int64_t i = 0; variant->batch == gemm::Batch::grouped && i < q.batch; ++i) {
        Sizes sizes{};
        read(paper, &sizes, sizeof sizes);
        s.groups.push_back({.M = sizes.M,
                            .N = sizes.N,
                            .K = sizes.K,
                            .lda = sizes.lda,
                            .ldb = sizes.ldb,
                            .ldc = sizes.ldc,
                            .ldd = sizes.ldd});
    }
    return s.problem();
}

/// The bytes of the matrix that is written, afterwards.
std::vector<std::byte> compute(const gemm::Lesson& lesson, const Question& q, std::istream& paper) {
    std::vector<std::unique_ptr<OnDevice>> matrices;
    std::vector<void*> data;
    const gemm::Problem empty = problem_of(q, paper);
    std::size_t result = 0;
    for (const gemm::Operand& o : gemm::operands(empty)) {
        if (o.role != gemm::Role::in) result = matrices.size();
        matrices.push_back(std::make_unique<OnDevice>(paper, q.matrices[matrices.size()]));
        data.push_back(matrices.back()->data());
    }
    const OnDevice& c = *matrices[result];
    const gemm::Conditions conditions(q.sm, q.multiprocessors, {q.blocks, q.blocks + q.block_count},
                                      q.schedule);
    const gemm::Problem problem = gemm::over(empty, data);
    const auto what = static_cast<gemm::Earlier>(q.earlier);
    gemm::Problem now = gemm::earlier(problem, what);
    gemm::Plan plan = gemm::prepared(lesson, now);
    for (int left = what == gemm::Earlier::nothing ? 1 : 2;;) {
        const cpu_device::Steps before = cpu_device::steps();
        const gemm::OwnStream stream;
        gemm::launch(lesson, now, plan.get(), stream);
        stream.check();
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
        const cpu_device::Steps after = cpu_device::steps();
        // What was to be prepared for the blocks that run, by others that do not, is not there: C says
        // nothing.
        const bool alone = after.launches - before.launches == 1 && after.host_writes == before.host_writes;
        if (q.block_count > 0 && !alone) return c.given();
        if (--left == 0) return c.download();
        for (const auto& matrix : matrices) matrix->fill(paper);
        if (!gemm::needs_own_plan(what)) continue;
        now = problem;
        plan = gemm::prepared(lesson, now);
    }
}

int run(int argc, char** argv) {
    std::string paper_file;
    int fd = -1;
    gemm::parse_options(
        "gemm_exam", "Computes the problems of a paper that gemm_judge wrote.",
        {{"--paper", &paper_file, "the paper", "FILE"},
         {"--answers-fd", &fd, "the open file descriptor that the answers go to", "INT", true}},
        argc, argv);
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
