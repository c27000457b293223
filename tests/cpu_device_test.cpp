// What only the CPU device does: say in one sentence what went wrong inside a kernel, and go on.
#include "common/cpu/execution/device.hpp"

#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "tests/device_array.hpp"
#include "tests/kernels/kernels.hpp"
#include "tests/support.hpp"

namespace {

using kernels::Fault;
using test::DeviceArray;
using test::require_contains;

/// "…/faults.cu:<line>" of the line that a comment marks: the error must name the .cu, not what it was
/// translated to.
std::string marked_line(const std::string& mark) {
    std::ifstream source(GEMM_SOURCE_DIR "/tests/kernels/faults.cu");
    std::string line;
    for (int number = 1; std::getline(source, line); ++number) {
        if (line.ends_with("// LINE " + mark)) return "/tests/kernels/faults.cu:" + std::to_string(number);
    }
    FAIL("faults.cu has no line " << mark);
    return {};
}

/// Runs the faulty kernel and returns its error; a right kernel must run as ever after it.
std::string error_of(Fault fault) {
    const DeviceArray<int> out(7);
    const std::string error = test::error_of([&] { kernels::faulty(fault, out.data()); });
    INFO(error);
    CHECK(error.find('\n') == std::string::npos);
    CHECK(error.ends_with("."));
    require_contains(error, "kernel fault_kernel, block (1,2,0), thread (");

    const DeviceArray<int> after(7);
    kernels::faulty(Fault::none, after.data());
    CHECK(after.host() == std::vector<int>{1, 1, 1, 1, 1, 1, 0});
    const DeviceArray<float> in(std::vector<float>(128, 1.0f)), sums(4);
    kernels::block_sums(4, 32, in.data(), sums.data());
    CHECK(sums.host() == std::vector<float>(4, 32.0f));
    return error;
}

struct Restore {
    ~Restore() {
        cpu_device::set_hang_seconds(60);
        cpu_device::set_block_filter({});
        cpu_device::set_progress({});
        cpu_device::set_like("sm_90");
        cpu_device::set_multiprocessors(cpu_device::kFewMultiprocessors);
    }
};

const std::string kHere = "kernel fault_kernel, block (1,2,0), thread (3,1,0): ";

}  // namespace

TEST_CASE("cpu device: a shuffle that a lane never reaches is a deadlock") {
    const std::string error = error_of(Fault::missing_lane);
    require_contains(error, "thread (0,0,0): deadlock: it waits at __shfl_sync() at ");
    require_contains(error,
                     marked_line("missing_lane") + " for thread (3,1,0), which waits at __syncthreads() at ");
    require_contains(error, marked_line("elsewhere") + ".");
}

TEST_CASE("cpu device: a lane that its mask leaves out") {
    const std::string error = error_of(Fault::left_out_by_mask);
    require_contains(error, kHere);
    require_contains(error, "__shfl_sync() at ");
    require_contains(error,
                     marked_line("left_out_by_mask") + " is called by a lane that its mask leaves out");
}

TEST_CASE("cpu device: lanes with different masks wait for each other for ever") {
    const std::string error = error_of(Fault::different_masks);
    require_contains(error, "deadlock");
    require_contains(error, marked_line("different_masks"));
}

TEST_CASE("cpu device: lanes at two different shuffles") {
    const std::string error = error_of(Fault::two_collectives);
    require_contains(error, "deadlock");
    require_contains(error, marked_line("two_collectives"));
    require_contains(error, marked_line("the_others"));
}

TEST_CASE("cpu device: an mma that a lane never reaches is a deadlock") {
    const std::string error = error_of(Fault::mma_missing_lane);
    require_contains(error, "thread (0,0,0): deadlock: it waits at mma.sync at ");
    require_contains(
        error, marked_line("mma_missing_lane") + " for thread (3,1,0), which waits at __syncwarp() at ");
    require_contains(error, marked_line("mma_elsewhere") + ".");
}

TEST_CASE("cpu device: lanes at different instructions of the whole warp") {
    const std::string branches = error_of(Fault::mma_in_branches);
    require_contains(branches,
                     marked_line("mma_other_branch") + " for thread (3,1,0), which waits at mma.sync at ");
    require_contains(branches, marked_line("mma_in_branches") + ".");
    // On one line too.
    const std::string one_line = error_of(Fault::mma_or_ldmatrix);
    require_contains(one_line, "it waits at mma.sync at ");
    require_contains(one_line,
                     marked_line("mma_or_ldmatrix") + " for thread (3,1,0), which waits at ldmatrix at ");
}

TEST_CASE("cpu device: an mma of less than a warp") {
    require_contains(error_of(Fault::mma_after_return),
                     marked_line("mma_after_return") +
                         " needs all 32 threads of the warp, and thread (3,1,0) has returned.");
    const DeviceArray<float> out(1);
    require_contains(test::error_of([&] { kernels::short_warp(out.data()); }),
                     marked_line("short_warp") + " needs all 32 threads of a warp, and this one has 8.");
}

TEST_CASE("cpu device: addresses that ldmatrix cannot take") {
    require_contains(error_of(Fault::ldmatrix_misaligned), "ldmatrix at ");
    require_contains(error_of(Fault::ldmatrix_misaligned),
                     marked_line("ldmatrix") + " reads 16 bytes at an address that is no multiple of 16.");
    for (const Fault fault : {Fault::ldmatrix_of_global, Fault::ldmatrix_of_null}) {
        require_contains(error_of(fault),
                         marked_line("ldmatrix") + " reads at an address that is not in shared memory.");
    }
}

TEST_CASE("cpu device: addresses that wmma cannot take") {
    require_contains(
        error_of(Fault::wmma_addresses),
        marked_line("wmma_addresses") + ": lanes 0 and 11 of the warp name different addresses.");
    require_contains(error_of(Fault::wmma_misaligned),
                     marked_line("wmma_misaligned") + " names an address that is no multiple of 32.");
    require_contains(error_of(Fault::wmma_pitch),
                     marked_line("wmma_pitch") + " names a pitch that is no multiple of 16 bytes.");
}

TEST_CASE("cpu device: a thread that returns before a barrier") {
    const std::string error = error_of(Fault::returned_before_barrier);
    require_contains(error,
                     kHere + "divergent barrier: it returned without reaching the __syncthreads() at ");
    require_contains(error, marked_line("returned_before_barrier"));
}

TEST_CASE("cpu device: threads at two different barriers") {
    const std::string error = error_of(Fault::two_barriers);
    require_contains(error, kHere + "divergent barrier: it waits at __syncthreads() at ");
    require_contains(error, marked_line("two_barriers"));
    require_contains(error, marked_line("the_other_barrier"));
}

TEST_CASE("cpu device: __trap()") {
    const std::string error = error_of(Fault::trap);
    require_contains(error, kHere + "__trap() at ");
    require_contains(error, marked_line("trap") + " ended the kernel.");
}

TEST_CASE("cpu device: an exception that leaves a kernel") {
    require_contains(error_of(Fault::exception), kHere + "an exception left the kernel: planted by the test");
}

TEST_CASE("cpu device: a null pointer") {
    const std::string error = error_of(Fault::null_pointer);
    require_contains(error, kHere + "access through a null pointer.");
}

TEST_CASE("cpu device: a division by zero") {
    require_contains(error_of(Fault::division_by_zero), kHere + "integer division by zero.");
}

TEST_CASE("cpu device: endless recursion") {
    require_contains(error_of(Fault::recursion), kHere + "its local variables take more than the ");
}

TEST_CASE("cpu device: a local array that no stack holds") {
    require_contains(error_of(Fault::large_array), kHere + "its local variables take more than the ");
}

TEST_CASE("cpu device: local arrays that a stack holds one by one") {
    require_contains(error_of(Fault::two_arrays), kHere + "its local variables take more than the ");
}

TEST_CASE("cpu device: an endless loop") {
    const Restore restore;
    cpu_device::set_hang_seconds(1);
    const auto start = std::chrono::steady_clock::now();
    const std::string error = error_of(Fault::endless_loop);
    require_contains(
        error, kHere + "neither returned nor reached a barrier for 1 second: probably an endless loop.");
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(50));  // 60 is the default
}

TEST_CASE("cpu device: an endless loop with a barrier in it") {
    const Restore restore;
    cpu_device::set_hang_seconds(1);
    const auto start = std::chrono::steady_clock::now();
    const std::string error = error_of(Fault::endless_barriers);
    require_contains(error, "block (1,2,0)");
    require_contains(error, "no thread of its block has returned for 2 seconds");
    require_contains(error, marked_line("endless_barriers") + ": probably an endless loop.");
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(50));  // 60 is the default
}

TEST_CASE("cpu device: a wild pointer") {
    require_contains(error_of(Fault::wild_pointer),
                     kHere + "access to an address that no memory can have (a wild pointer).");
}

TEST_CASE("cpu device: writing on past the end of device memory") {
    const std::string error = error_of(Fault::past_the_allocation);
    require_contains(error, kHere + "access to address ");
    require_contains(error, "outside everything that cudaMalloc gave");
}

TEST_CASE("cpu device: an overflowing shared array does not reach the runtime") {
    // Not seen without tracing, but the program goes on and the next launch is right.
    const DeviceArray<int> out(6);
    kernels::faulty(Fault::far_past_a_shared_array, out.data());
    kernels::faulty(Fault::none, out.data());
    for (const int done : out.host()) CHECK(done == 1);
}

TEST_CASE("cpu device: many failures one after the other leave nothing behind") {
    for (int i = 0; i < 50; ++i) {
        error_of(Fault::missing_lane);
        error_of(Fault::null_pointer);
        error_of(Fault::exception);
        error_of(Fault::two_barriers);
    }
}

TEST_CASE("cpu device: a product and a sum are two roundings") {
    // (1 + 2⁻¹²)² is 1 + 2⁻¹¹ in float32; fused with what follows, 2⁻²⁴ would be left of it.
    const volatile float x = 1.0f + 0x1p-12f, z = -1.0f - 0x1p-11f;
    REQUIRE(std::fma(x, x, z) == 0x1p-24f);
    const DeviceArray<float> out(1);
    kernels::product_and_sum(x, x, z, out.data());
    CHECK(out.host() == std::vector<float>{0.0f});
    const float a = x, b = x, c = z;
    CHECK(a * b + c == 0.0f);  // the host too: references, bounds, what tests expect
}

TEST_CASE("cpu device: shared memory starts as NaN in every block") {
    const int blocks = 64;
    const DeviceArray<int> not_nan(blocks);
    kernels::read_unwritten_shared(blocks, not_nan.data());
    CHECK(not_nan.host() == std::vector<int>(blocks, 0));
}

TEST_CASE("cpu device: more static shared memory than nvcc compiles") {
    const std::string error = test::error_of([] { kernels::too_much_static_shared(); });
    require_contains(error,
                     "kernel greedy: its __shared__ arrays take 50176 bytes, and a kernel may declare 49152");
}

TEST_CASE("cpu device: a refused launch says the numbers") {
    const auto refusal = [](dim3 grid, dim3 block, std::size_t bytes) {
        cpu_device::launch(
            "nothing", reinterpret_cast<const void*>(&cudaGetLastError), grid, block, bytes,
            [](const void*) {}, nullptr, 0);
        std::string why = cpu_device::refusal();
        CHECK(cudaGetLastError() == (why.empty() ? cudaSuccess : cudaErrorInvalidValue));
        CHECK(cpu_device::refusal().empty());
        return why;
    };
    CHECK(refusal(1, 32, 0).empty());
    CHECK(refusal(1, dim3(64, 32), 0) == "2048 threads a block (64×32×1), and 1024 is the most");
    CHECK(refusal(0, 32, 0) == "a grid of 0 blocks (0×1×1)");
    CHECK(refusal(dim3(1, 65536), 32, 0) == "a grid of 1×65536×1, and 2147483647×65535×65535 is the most");
    CHECK(refusal(1, dim3(32, 0), 0) == "0 threads a block (32×0×1)");
    CHECK(refusal(1, dim3(1, 1, 65), 0) ==
          "a block of 1×1×65 threads, and 1024×1024×64 is the most in each direction");
    CHECK(refusal(1, 32, 49153) ==
          "49153 bytes of dynamic shared memory, and 49152 is the most without cudaFuncSetAttribute");
    // Another error is not this launch's.
    CHECK(refusal(1, 32, 0).empty());
    cpu_device::launch(
        "nothing", reinterpret_cast<const void*>(&cudaGetLastError), 0, 32, 0, [](const void*) {}, nullptr,
        0);
    CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
    CHECK(cpu_device::refusal().empty());
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
}

TEST_CASE("cpu device: every spelling of a launch") {
    const DeviceArray<int> sum(1);
    kernels::spellings(sum.data());
    CHECK(sum.host()[0] == kernels::kAllSpellings);
}

TEST_CASE("cpu device: whose limits hold") {
    const Restore restore;
    for (const auto& [sm, kib] :
         {std::pair{75, 64}, {80, 163}, {86, 99}, {87, 163}, {89, 99}, {90, 227}, {100, 227}, {120, 99}}) {
        cpu_device::set_like("sm_" + std::to_string(sm));
        CHECK(cpu_device::limits().sm == sm);
        const auto most = static_cast<std::size_t>(kib) * 1024;
        const DeviceArray<int> count(1);
        CHECK(kernels::launch_with_optin(most, most, count.data()) == cudaSuccess);
        CHECK(kernels::launch_with_optin(most, most + 1, count.data()) == cudaErrorInvalidValue);
        CHECK(count.host()[0] == 1);
        cudaDeviceProp properties{};
        CHECK(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
        CHECK(properties.sharedMemPerBlockOptin == most);
        CHECK(10 * properties.major + properties.minor == sm);
    }
    for (const std::string unknown : {"sm_10", "sm_9", "90", "", "sm_900"}) {
        const std::string error = test::error_of([&] { cpu_device::set_like(unknown); });
        require_contains(error,
                         "The CPU device knows no limits of '" + unknown + "'; it knows sm_75, sm_80, ");
        CHECK(cpu_device::limits().sm == 120);  // the last one that was known
    }
}

TEST_CASE("cpu device: how many SMs there are") {
    const Restore restore;
    const auto told = [] {
        cudaDeviceProp properties{};
        CHECK(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
        int attribute = 0;
        CHECK(cudaDeviceGetAttribute(&attribute, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess);
        CHECK(attribute == properties.multiProcessorCount);
        return attribute;
    };
    test::device();
    CHECK(told() == cpu_device::kFewMultiprocessors);  // what tests run with, whatever the host has
    cpu_device::set_multiprocessors(0);
    for (const auto& [sm, count] :
         {std::pair{75, 40}, {80, 108}, {86, 84}, {87, 16}, {89, 128}, {90, 132}, {100, 148}, {120, 170}}) {
        cpu_device::set_like("sm_" + std::to_string(sm));
        CHECK(told() == count);
    }
    cpu_device::set_multiprocessors(7);
    CHECK(told() == 7);
    cpu_device::set_like("sm_80");
    CHECK(told() == 7);
    int value = 0;
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1) == cudaErrorInvalidDevice);
    CHECK(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("cpu device: how many blocks an SM has room for") {
    const Restore restore;
    const auto* const function = reinterpret_cast<const void*>(&cudaGetLastError);  // no kernel: no arrays
    const auto blocks = [&](const char* like, int threads, std::size_t dynamic) {
        cpu_device::set_like(like);
        int count = -1;
        CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, function, threads, dynamic) ==
              cudaSuccess);
        return count;
    };
    CHECK(blocks("sm_90", 256, 0) == 8);
    CHECK(blocks("sm_90", 32, 0) == 32);
    CHECK(blocks("sm_86", 32, 0) == 16);
    CHECK(blocks("sm_86", 1024, 0) == 1);
    CHECK(blocks("sm_75", 128, 32 * 1024) == 2);
    CHECK(blocks("sm_90", 128, 56 * 1024) == 4);  // and 1 KiB each that is CUDA's
    CHECK(blocks("sm_90", 128, 57 * 1024) == 3);
}

TEST_CASE("cpu device: streams and events") {
    cudaStream_t stream = nullptr;
    cudaEvent_t start = nullptr, stop = nullptr, untimed = nullptr;
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    REQUIRE(cudaEventCreate(&start) == cudaSuccess);
    REQUIRE(cudaEventCreate(&stop) == cudaSuccess);
    REQUIRE(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) == cudaSuccess);
    float milliseconds = -1.0f;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop) == cudaErrorInvalidResourceHandle);
    for (const cudaEvent_t event : {start, stop, untimed}) {
        CHECK(cudaEventRecord(event, stream) == cudaSuccess);
        CHECK(cudaEventQuery(event) == cudaSuccess);
        CHECK(cudaEventSynchronize(event) == cudaSuccess);
        CHECK(cudaStreamWaitEvent(nullptr, event) == cudaSuccess);
    }
    // No time of this processor is a GPU's.
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop) == cudaErrorNotSupported);
    CHECK(cudaEventElapsedTime(&milliseconds, start, untimed) == cudaErrorInvalidResourceHandle);
    CHECK(milliseconds == -1.0f);
    CHECK(cudaStreamQuery(stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
    for (const cudaEvent_t event : {start, stop, untimed}) CHECK(cudaEventDestroy(event) == cudaSuccess);
    CHECK(cudaStreamDestroy(stream) == cudaSuccess);
    CHECK(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
    CHECK(cudaEventRecord(start, nullptr) == cudaErrorInvalidResourceHandle);
    CHECK(cudaStreamCreateWithFlags(&stream, 77) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(std::string(cudaGetErrorString(cudaErrorNotSupported)) == "operation not supported");
}

TEST_CASE("cpu device: copies and fills") {
    const DeviceArray<int> memory(64);
    const std::vector<int> host{1, 2, 3, 4, 5, 6, 7, 8};
    CHECK(cudaMemsetAsync(memory.data(), 0xff, 16, nullptr) == cudaSuccess);
    CHECK(cudaMemcpyAsync(memory.data() + 1, host.data(), 8, cudaMemcpyHostToDevice, nullptr) == cudaSuccess);
    // 2 rows of 2 from rows of 4 to rows of 8.
    CHECK(cudaMemcpy2D(memory.data() + 16, 32, host.data(), 16, 8, 2, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemset2D(memory.data() + 32, 16, 0x01, 4, 2) == cudaSuccess);
    const std::vector<int> now = memory.host();
    CHECK(std::vector<int>(now.begin(), now.begin() + 5) == std::vector<int>{-1, 1, 2, -1, 0});
    CHECK(now[16] == 1);
    CHECK(now[17] == 2);
    CHECK(now[18] == 0);
    CHECK(now[24] == 5);
    CHECK(now[25] == 6);
    CHECK(now[32] == 0x01010101);
    CHECK(now[33] == 0);
    CHECK(now[36] == 0x01010101);

    std::vector<int> mine(64);
    CHECK(cudaMemset(mine.data(), 0, 4) == cudaErrorInvalidValue);
    CHECK(cudaMemset(memory.data(), 0, 65 * sizeof(int)) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(mine.data(), memory.data() + 1, 64 * sizeof(int), cudaMemcpyDeviceToHost) ==
          cudaErrorInvalidValue);
    CHECK(cudaMemcpy(mine.data(), host.data(), 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(mine.data(), host.data(), 4, static_cast<cudaMemcpyKind>(9)) ==
          cudaErrorInvalidMemcpyDirection);
    CHECK(cudaMemcpy(memory.data(), memory.data(), 4, cudaMemcpyDefault) == cudaSuccess);
    CHECK(cudaMemcpy2D(memory.data(), 4, host.data(), 16, 8, 2, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidPitchValue);
    CHECK(cudaMemset2D(memory.data(), ~std::size_t{0} / 2, 0, 4, 5) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("cpu device: variables of the device") {
    const std::vector<float> two{3.0f, 4.0f};
    std::vector<float> four(4);
    kernels::symbols(two.data(), four.data());
    CHECK(four == std::vector<float>{0.0f, 3.0f, 4.0f, 10.0f});
}

TEST_CASE("cpu device: what was granted under one GPU's limits does not hold under another's") {
    const Restore restore;
    const DeviceArray<int> count(1);
    cpu_device::set_like("sm_90");
    CHECK(kernels::launch_with_optin(200 * 1024, 200 * 1024, count.data()) == cudaSuccess);
    cpu_device::set_like("sm_86");
    CHECK(kernels::launch_with_optin(200 * 1024, 0, count.data()) == cudaErrorInvalidValue);
    CHECK(count.host()[0] == 1);
}

TEST_CASE("cpu device: only the blocks that the filter lets through") {
    const Restore restore;
    cpu_device::set_block_filter([](std::uint64_t block) { return block % 2 == 1; });
    const DeviceArray<int> out(7);
    kernels::faulty(Fault::none, out.data());
    CHECK(out.host() == std::vector<int>{0, 1, 0, 1, 0, 1, 0});
}

TEST_CASE("cpu device: memory") {
    int* nothing = nullptr;
    CHECK(cudaMalloc(&nothing, std::size_t{1} << 60) == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(nothing == nullptr);
    CHECK(cudaFree(nullptr) == cudaSuccess);
    float* data = nullptr;
    REQUIRE(cudaMalloc(&data, 20) == cudaSuccess);
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 256 == 0);
    CHECK(cudaFree(data) == cudaSuccess);
    CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
}
