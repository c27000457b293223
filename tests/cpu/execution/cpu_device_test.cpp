// What only the CPU device does: say in one sentence what went wrong inside a kernel, and go on.
#include "common/cpu/execution/device.hpp"

#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "tests/cpu/execution/kernels.hpp"
#include "tests/device_array.hpp"
#include "tests/support.hpp"

namespace {

using gemm::FaultId;
using kernels::Fault;
using test::DeviceArray;
using test::require_contains;

/// Right kernels run as ever after one that went wrong.
void require_as_ever() {
    const DeviceArray<int> after(7);
    kernels::faulty(Fault::none, after.data());
    CHECK(after.host() == std::vector<int>{1, 1, 1, 1, 1, 1, 0});
    const DeviceArray<float> in(std::vector<float>(128, 1.0f)), sums(4);
    kernels::block_sums(4, 32, in.data(), sums.data());
    CHECK(sums.host() == std::vector<float>(4, 32.0f));
}

std::function<void()> faulty(Fault fault) {
    return [fault] {
        const DeviceArray<int> out(7);
        kernels::faulty(fault, out.data());
    };
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

}  // namespace

TEST_CASE("cpu device: a kernel that goes wrong is an error with a place, and the next one is right") {
    const Restore restore;
    cpu_device::set_hang_seconds(1);
    const auto start = std::chrono::steady_clock::now();
    test::require_faults(
        "faults",
        {{"missing_lane", FaultId::deadlock, faulty(Fault::missing_lane)},
         {"left_out_by_mask", FaultId::kernel_threw, faulty(Fault::left_out_by_mask)},
         {"different_masks", FaultId::deadlock, faulty(Fault::different_masks)},
         {"two_collectives", FaultId::deadlock, faulty(Fault::two_collectives)},
         {"mma_missing_lane", FaultId::deadlock, faulty(Fault::mma_missing_lane)},
         {"mma_in_branches", FaultId::deadlock, faulty(Fault::mma_in_branches)},
         {"mma_or_ldmatrix", FaultId::deadlock, faulty(Fault::mma_or_ldmatrix)},
         {"mma_after_return", FaultId::deadlock, faulty(Fault::mma_after_return)},
         {"short_warp", FaultId::kernel_threw, [] { kernels::short_warp(DeviceArray<float>(1).data()); }},
         {"ldmatrix_misaligned", FaultId::kernel_threw, faulty(Fault::ldmatrix_misaligned)},
         {"ldmatrix_of_global", FaultId::kernel_threw, faulty(Fault::ldmatrix_of_global)},
         {"ldmatrix_of_null", FaultId::kernel_threw, faulty(Fault::ldmatrix_of_null)},
         {"wmma_addresses", FaultId::kernel_threw, faulty(Fault::wmma_addresses)},
         {"wmma_misaligned", FaultId::kernel_threw, faulty(Fault::wmma_misaligned)},
         {"wmma_pitch", FaultId::kernel_threw, faulty(Fault::wmma_pitch)},
         {"returned_before_barrier", FaultId::divergent_barrier, faulty(Fault::returned_before_barrier)},
         {"two_barriers", FaultId::divergent_barrier, faulty(Fault::two_barriers)},
         {"trap", FaultId::trap, faulty(Fault::trap)},
         {"exception", FaultId::kernel_threw, faulty(Fault::exception)},
         {"null_pointer", FaultId::null_pointer, faulty(Fault::null_pointer)},
         {"division_by_zero", FaultId::division_by_zero, faulty(Fault::division_by_zero)},
         {"recursion", FaultId::stack_overflow, faulty(Fault::recursion)},
         {"large_array", FaultId::stack_overflow, faulty(Fault::large_array)},
         {"two_arrays", FaultId::stack_overflow, faulty(Fault::two_arrays)},
         {"endless_loop", FaultId::endless_loop, faulty(Fault::endless_loop)},
         {"endless_barriers", FaultId::endless_loop, faulty(Fault::endless_barriers)},
         {"wild_pointer", FaultId::wild_pointer, faulty(Fault::wild_pointer)},
         {"past_the_allocation", FaultId::beyond_allocations, faulty(Fault::past_the_allocation)},
         {"too_much_static_shared", FaultId::other, [] { kernels::too_much_static_shared(); }}},
        require_as_ever);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(50));  // 60 is the default
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
        for (const Fault fault :
             {Fault::missing_lane, Fault::null_pointer, Fault::exception, Fault::two_barriers}) {
            test::error_of(faulty(fault));
            require_as_ever();
        }
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
    test::require_approved("refused_launches", {refusal(1, dim3(64, 32), 0), refusal(0, 32, 0),
                                                refusal(dim3(1, 65536), 32, 0), refusal(1, dim3(32, 0), 0),
                                                refusal(1, dim3(1, 1, 65), 0), refusal(1, 32, 49153)});
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
        for (const std::string& named : {"'" + unknown + "'", std::string("sm_75, ")})
            require_contains(error, named);
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

TEST_CASE("cpu device: attributes are what the properties say, and what the device does not have is 0") {
    test::device();
    cudaDeviceProp p{};
    CHECK(cudaGetDeviceProperties(&p, 0) == cudaSuccess);
    for (const auto& [attribute, told] :
         {std::pair{cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
          {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
          {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
          {cudaDevAttrComputeCapabilityMajor, p.major},
          {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
          {cudaDevAttrClockRate, 0},
          {cudaDevAttrMemoryClockRate, 0},
          {cudaDevAttrGlobalMemoryBusWidth, 0},
          {cudaDevAttrL2CacheSize, 0},
          {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
          {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
          {cudaDevAttrCooperativeLaunch, p.cooperativeLaunch}}) {
        int value = -1;
        CAPTURE(attribute);
        CHECK(cudaDeviceGetAttribute(&value, attribute, 0) == cudaSuccess);
        CHECK(value == told);
    }
}

TEST_CASE("cpu device: the last call that failed is known by its name, also after its error was asked for") {
    using cpu_device::last_failed_call;
    int value = 0;
    void* memory = nullptr;
    CHECK(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0) != cudaSuccess);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFree(nullptr) == cudaSuccess);
    CHECK(last_failed_call() == "cudaDeviceGetAttribute(), with cudaErrorInvalidValue");
    CHECK(cudaMalloc(&memory, std::size_t{1} << 60) == cudaErrorMemoryAllocation);
    CHECK(last_failed_call() == "cudaMalloc(), with cudaErrorMemoryAllocation");
    // Of functions that call one another, the one that was called.
    CHECK(cudaMemcpy(nullptr, &value, 4, cudaMemcpyHostToDevice) != cudaSuccess);
    CHECK(last_failed_call() == "cudaMemcpy(), with cudaErrorInvalidValue");
    CHECK(cudaStreamCreate(nullptr) != cudaSuccess);
    CHECK(last_failed_call() == "cudaStreamCreate(), with cudaErrorInvalidValue");
    CHECK(cudaEventSynchronize(nullptr) != cudaSuccess);
    CHECK(last_failed_call() == "cudaEventSynchronize(), with cudaErrorInvalidResourceHandle");
    cpu_device::launch(
        "nothing", reinterpret_cast<const void*>(&cudaGetLastError), 0, 32, 0, [](const void*) {}, nullptr,
        0);
    const std::string why = cpu_device::refusal();
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(last_failed_call() == "a kernel's launch, with cudaErrorInvalidValue (" + why + ")");
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
