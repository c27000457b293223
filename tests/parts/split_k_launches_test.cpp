// Lesson 15a's launches: again and again with one plan, after one that was cut short, and without a
// workspace.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"
#include "tests/support.hpp"

namespace {

/// So many SMs, and nothing of a test's blocks and schedules afterwards.
struct Device {
    explicit Device(int multiprocessors) {
        test::device();
        cpu_device::set_multiprocessors(multiprocessors);
    }
    ~Device() {
        cpu_device::set_multiprocessors(cpu_device::kFewMultiprocessors);
        cpu_device::set_schedule_seed(0);
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
};

/// C as the launch leaves it.
std::vector<std::byte> launched(const gemm::Lesson& lesson, gemm::Workload& w, const void* plan) {
    w.reset_c();
    lesson.launch(w.problem(), plan, nullptr);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const gemm::Elements c = w.download_c();
    return {c.bytes().begin(), c.bytes().end()};
}

/// How many words of the allocations of so many bytes are not 0.
std::size_t words_left(std::size_t bytes) {
    std::size_t left = 0;
    for (const cpu_device::Allocation& a : cpu_device::allocations()) {
        if (a.bytes != bytes) continue;
        std::vector<unsigned> words(bytes / sizeof(unsigned));
        CUDA_CHECK(cudaMemcpy(words.data(), a.start, bytes, cudaMemcpyDeviceToHost));
        left += words.size() - static_cast<std::size_t>(std::count(words.begin(), words.end(), 0u));
    }
    return left;
}

/// While it lives, this process gets no more memory that it may write.
class NoRoom {
  public:
    NoRoom() {
        getrlimit(RLIMIT_DATA, &before_);
        const rlimit none{std::min<rlim_t>(before_.rlim_max, rlim_t{1} << 20), before_.rlim_max};
        setrlimit(RLIMIT_DATA, &none);
    }
    ~NoRoom() { setrlimit(RLIMIT_DATA, &before_); }
    NoRoom(const NoRoom&) = delete;
    NoRoom& operator=(const NoRoom&) = delete;

  private:
    rlimit before_{};
};

}  // namespace

TEST_CASE(
    "split-K: 20 launches give the same bits, in whichever order blocks come, also after one that was cut "
    "short") {
    const gemm::Lesson& lesson = test::lesson("15a_split_k");
    const Device device(24);
    // Six small C tiles in four slices.
    gemm::Workload w(test::shape(125, 131, 505, true, 1.5f, -0.5f), test::seed());
    const gemm::Plan plan = lesson.prepare(w.problem());
    const std::vector<std::byte> expected = launched(lesson, w, plan.get());
    for (unsigned i = 1; i < 20; ++i) {
        INFO("launch " << i);
        cpu_device::set_schedule_seed(test::seed() + i);
        REQUIRE(launched(lesson, w, plan.get()) == expected);
    }
    CHECK(words_left(6 * sizeof(unsigned)) == 0);
    // Of B half the rows are there: the first slices have come when others end the launch.
    cpu_device::set_schedule_seed(0);
    gemm::Problem half = w.problem();
    void* rows = nullptr;
    const std::size_t bytes = static_cast<std::size_t>(half.K / 2 * half.ldb) * sizeof(float);
    CUDA_CHECK(cudaMalloc(&rows, bytes));
    CUDA_CHECK(cudaMemset(rows, 0, bytes));
    half.B = rows;
    CHECK_THROWS_AS(lesson.launch(half, plan.get(), nullptr), gemm::Error);
    (void)cudaGetLastError();
    cudaFree(rows);
    CHECK(words_left(6 * sizeof(unsigned)) > 0);
    REQUIRE(launched(lesson, w, plan.get()) == expected);
    CHECK(words_left(6 * sizeof(unsigned)) == 0);
}

TEST_CASE("split-K: without room for a workspace C tiles are computed in one piece, and a sentence says so") {
    const gemm::Lesson& lesson = test::lesson("15a_split_k");
    const Device device(24);
    const gemm::Shape shape = test::shape(125, 131, 505, false);
    gemm::Workload w(shape, test::seed());
    const gemm::Verifier verifier(w);
    const std::size_t before = cpu_device::allocations().size();
    std::fflush(stderr);
    const std::unique_ptr<FILE, int (*)(FILE*)> said(std::tmpfile(), std::fclose);
    REQUIRE(said != nullptr);
    const int errors = dup(STDERR_FILENO);
    dup2(fileno(said.get()), STDERR_FILENO);
    gemm::Plan plan;
    {
        const NoRoom none;
        plan = lesson.prepare(w.problem());
    }
    dup2(errors, STDERR_FILENO);
    close(errors);
    std::rewind(said.get());
    std::string sentence(1000, '\0');
    sentence.resize(std::fread(sentence.data(), 1, sentence.size(), said.get()));
    // 6 C tiles of 64×64 floats.
    test::require_contains(sentence,
                           "no room for a workspace of " + std::to_string(4 * 6 * 64 * 64 * 4) + " bytes");
    CHECK(std::count(sentence.begin(), sentence.end(), '\n') == 1);
    CHECK(cpu_device::allocations().size() == before);
    (void)launched(lesson, w, plan.get());
    const gemm::Verdict verdict = verifier.check(w.download_c(), &lesson, {}, gemm::Fill::poison);
    INFO(verdict.failure);
    CHECK(verdict.passed);
}
