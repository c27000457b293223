// 08 stream — the overlap by itself: two kernels that read the same bytes and compute the same sums, one with
// plain loads, the other with a pipeline of two cp.async stages, and the bandwidth that each reaches.
//
// A thread reads `elements` floats, one for each tile of THREADS, and puts each through 32 dependent FMAs.
// It reads only what it has copied itself, so that no barrier is needed.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/gemm.hpp"
#include "common/measure/device.hpp"
#include "common/measure/stats.hpp"
#include "common/measure/timer.hpp"
#include "common/program/options.hpp"
#include "common/ptx/cp_async.hpp"

namespace {

#ifdef GEMM_CPU_DEVICE
constexpr bool TIMES = false;
#else
constexpr bool TIMES = true;
#endif

constexpr int THREADS = 128;        // a block
constexpr int FMAS = 32;            // an element, each of which needs the result of the one before
constexpr float FACTOR = 0.99999f;  // near 1: even the first element counts in the result

__device__ __forceinline__ float use(float acc, float value) {
#pragma unroll
    for (int i = 0; i < FMAS; ++i) acc = fmaf(acc, FACTOR, value);
    return acc;
}

// in: [elements][blocks · THREADS].  out: [blocks · THREADS]. One load a round (unrolled, nvcc would put
// several in front of the first use): the sums wait for it, and the next load waits for the sums.
__global__ void __launch_bounds__(THREADS) stream_plain(const float* in, float* out, int elements) {
    const std::int64_t all = std::int64_t{gridDim.x} * THREADS,
                       t = std::int64_t{blockIdx.x} * THREADS + threadIdx.x;
    float acc = 0.0f;
    in += t;
#pragma unroll 1
    for (int i = 0; i < elements; ++i, in += all) acc = use(acc, *in);
    out[t] = acc;
}

// The same: while an element is used, the next one is copied into the other stage.
__global__ void __launch_bounds__(THREADS) stream_cp_async(const float* in, float* out, int elements) {
    __shared__ float stages[2][THREADS];
    const std::int64_t all = std::int64_t{gridDim.x} * THREADS,
                       t = std::int64_t{blockIdx.x} * THREADS + threadIdx.x;
    float acc = 0.0f;
    in += t;
    gemm::ptx::cp_async_or_zero<4>(&stages[0][threadIdx.x], in, elements > 0);
    gemm::ptx::cp_async_commit();
#pragma unroll 1
    for (int i = 0; i < elements; ++i) {
        in += all;
        if (i + 1 < elements) gemm::ptx::cp_async<4>(&stages[(i + 1) % 2][threadIdx.x], in);
        gemm::ptx::cp_async_commit();
        gemm::ptx::cp_async_wait<1>();  // all but the newest: element i is there
        acc = use(acc, stages[i % 2][threadIdx.x]);
    }
    out[t] = acc;
}

using Kernel = void (*)(const float*, float*, int);

/// Frees what cudaMalloc gave.
struct Memory {
    explicit Memory(std::int64_t floats) {
        CUDA_CHECK(
            cudaMalloc(reinterpret_cast<void**>(&data), static_cast<std::size_t>(floats) * sizeof(float)));
    }
    ~Memory() { cudaFree(data); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    float* data = nullptr;
};

/// Element i of thread t: small numbers that float holds exactly, without a pattern that a wrong index would
/// keep.
float input(std::int64_t t, std::int64_t i) {
    return static_cast<float>((t * 7919 + i * 104729) % 1021) / 1024.0f - 0.5f;
}

/// Empty if the kernel's sums are those of the host, bit by bit; else a sentence. `out` is spoiled before.
std::string wrong(Kernel kernel, const char* name, const float* in, float* out, int blocks, int elements) {
    const std::int64_t all = std::int64_t{blocks} * THREADS;
    std::vector<float> sums(static_cast<std::size_t>(all), std::nanf(""));
    const std::size_t bytes = sums.size() * sizeof(float);
    CUDA_CHECK(cudaMemcpy(out, sums.data(), bytes, cudaMemcpyHostToDevice));
    kernel<<<blocks, THREADS>>>(in, out, elements);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(sums.data(), out, bytes, cudaMemcpyDeviceToHost));
    // All threads where that is quick, else the first and the last and some between.
    const std::int64_t step = std::max<std::int64_t>(1, all * elements / (1 << 22));
    for (std::int64_t n = 0; n < all + step - 1; n += step) {
        const std::int64_t t = std::min(n, all - 1);
        float acc = 0.0f;
        for (int i = 0; i < elements; ++i) {
            for (int f = 0; f < FMAS; ++f) acc = std::fmaf(acc, FACTOR, input(t, i));
        }
        const float got = sums[static_cast<std::size_t>(t)];
        if (got == acc) continue;
        return std::string(name) + " is wrong: thread " + std::to_string(t) + " has " + std::to_string(got) +
               ", expected " + std::to_string(acc) + ".";
    }
    return {};
}

struct Row {
    int blocks = 0;
    double ms[2] = {0, 0};  // plain, cp.async; 0: not timed
    double ratio = 0;       // plain's time over cp.async's, median of rounds
};

/// Verifies both kernels, and times them on a GPU. Throws Error where one is wrong.
Row measure(int blocks, int elements, const gemm::Device& device) {
    const std::int64_t all = std::int64_t{blocks} * THREADS, floats = all * elements;
    // Rotating over copies, no launch finds its own bytes in the L2.
    const int copies = gemm::copies_for_cold_cache(floats * 4, device.l2_bytes, 64);
    const Memory in(floats * copies), out(all);
    std::vector<float> host(static_cast<std::size_t>(floats));
    for (std::int64_t i = 0; i < elements; ++i) {
        for (std::int64_t t = 0; t < all; ++t) host[static_cast<std::size_t>(i * all + t)] = input(t, i);
    }
    for (int copy = 0; copy < copies; ++copy) {
        CUDA_CHECK(cudaMemcpy(in.data + copy * floats, host.data(), host.size() * sizeof(float),
                              cudaMemcpyHostToDevice));
    }
    const std::pair<Kernel, const char*> both[] = {{stream_plain, "plain"}, {stream_cp_async, "cp.async"}};
    for (const auto& [kernel, name] : both) {
        const std::string said = wrong(kernel, name, in.data, out.data, blocks, elements);
        if (!said.empty()) throw gemm::Error(said);
    }
    Row row;
    row.blocks = blocks;
#ifndef GEMM_CPU_DEVICE
    const auto contender = [&](const char* name, Kernel kernel) {
        return gemm::Contender{
            name, [=, &in, &out](const gemm::Problem&, std::size_t copy, cudaStream_t stream) {
                kernel<<<blocks, THREADS, 0, stream>>>(in.data + static_cast<std::int64_t>(copy) * floats,
                                                       out.data, elements);
            }};
    };
    const std::vector<gemm::Timing> timed =
        gemm::time_interleaved({contender("plain", stream_plain), contender("cp.async", stream_cp_async)},
                               std::vector<gemm::Problem>(static_cast<std::size_t>(copies)), {});
    row.ms[0] = timed[0].ms_median;
    row.ms[1] = timed[1].ms_median;
    row.ratio = timed[1].ratio;
#endif
    return row;
}

/// Grids: a small one, a block for each SM, and so on to as many as the GPU holds at once.
std::vector<int> grids(const gemm::Device& device) {
#ifdef GEMM_CPU_DEVICE
    (void)device;
    return {1, 3};
#else
    int blocks = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, stream_cp_async, THREADS, 0));
    std::vector<int> found{80, device.multiprocessors};
    for (int n = 2; n < blocks; n *= 2) found.push_back(device.multiprocessors * n);
    found.push_back(device.multiprocessors * blocks);
    return found;
#endif
}

int run(int argc, char** argv) {
    const std::string usual = TIMES ? "2048" : "64";
    std::string blocks, elements = usual, ordinal = "0";
    std::string about =
        "08_stream: the same bytes and sums by plain loads and by two cp.async stages; verified";
    about += TIMES ? ", and timed." : " on the CPU device, which does not time.";
    const std::vector<gemm::Option> options = {
        {"--blocks", &blocks,
         TIMES ? "blocks of 128 threads [80, and what fills the GPU]" : "blocks of 128 threads [1, 3]"},
        {"--elements", &elements, "floats that a thread reads [" + usual + "]"},
        {"--device", &ordinal, "which device, counted from 0 [0]"}};
    gemm::parse_options("08_stream", about, options, argc, argv);
    const int length = static_cast<int>(gemm::whole_number("--elements", elements, 1, 1 << 20));
    const int one = blocks.empty() ? 0 : static_cast<int>(gemm::whole_number("--blocks", blocks, 1, 1 << 20));

    const gemm::Device device =
        gemm::select_device(static_cast<int>(gemm::whole_number("--device", ordinal, 0, 1023)), "");
    const gemm::Offer offer{.architectures = {.from = 80}};
    const gemm::Lesson needs{.name = "08_stream", .variants = {&offer, 1}};
    if (const std::string why = gemm::why_skipped(needs, device); !why.empty()) throw gemm::Error(why);

    std::printf("08_stream on %s: %d threads a block, %d floats a thread, %d dependent FMAs a float\n",
                device.name.c_str(), THREADS, length, FMAS);
    std::printf("%8s %10s%s\n", "blocks", "MB read",
                TIMES ? "   plain (ms)     GB/s  cp.async (ms)     GB/s speed-up" : "");
    for (const int grid : one > 0 ? std::vector<int>{one} : grids(device)) {
        const Row row = measure(grid, length, device);
        const double bytes = 4.0 * grid * THREADS * length;
        std::printf("%8d %10.4g", grid, bytes / 1e6);
        if (TIMES) {
            std::printf(" %12.4g %8.4g %14.4g %8.4g %8.3g", row.ms[0], bytes / row.ms[0] / 1e6, row.ms[1],
                        bytes / row.ms[1] / 1e6, row.ratio);
        }
        std::printf("\n");
        std::fflush(stdout);
    }
    std::printf("right: all sums are the host's, bit by bit%s\n",
                TIMES ? "" : "; the CPU device does not time");
    return gemm::kRight;
}

}  // namespace

int main(int argc, char** argv) {
    return gemm::run_program("08_stream", [&] { return run(argc, argv); });
}
