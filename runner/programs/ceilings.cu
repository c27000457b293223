// The kernels of gemm_ceilings: each asks one thing of the GPU, as often as it can, and leaves something that
// depends on all of it. tests/python/test_ceilings.py looks for the loops in the machine code.

#include "runner/programs/ceilings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/check/buffer.hpp"
#include "common/error.hpp"

namespace gemm {
namespace {

constexpr int THREADS = 256;  // a block
constexpr int WARP = 32;
constexpr int VECTOR = 16;  // bytes of a uint4

/// Word i of what is copied and read: without a pattern that a wrong index would keep (the finaliser of
/// MurmurHash3, public domain).
__host__ __device__ inline unsigned word(std::int64_t i) {
    unsigned x = static_cast<unsigned>(i) + 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

__host__ __device__ inline uint4 words(std::int64_t i) {  // the i-th vector
    return {word(4 * i), word(4 * i + 1), word(4 * i + 2), word(4 * i + 3)};
}

__host__ __device__ inline unsigned sum(uint4 v) {
    return v.x + v.y + v.z + v.w;
}

__global__ void __launch_bounds__(THREADS) fill(uint4* out) {
    const std::int64_t i = std::int64_t{blockIdx.x} * THREADS + threadIdx.x;
    out[i] = words(i);
}

__global__ void __launch_bounds__(THREADS) count_wrong(const uint4* in, unsigned* wrong) {
    const std::int64_t i = std::int64_t{blockIdx.x} * THREADS + threadIdx.x;
    const uint4 got = in[i], expected = words(i);
    if (got.x != expected.x || got.y != expected.y || got.z != expected.z || got.w != expected.w)
        atomicAdd(wrong, 1u);
}

// in, out: [blocks][COPIES][THREADS]. All of a thread's loads are under way before its first store.
constexpr int COPIES = 4;

__global__ void __launch_bounds__(THREADS) copy(const uint4* __restrict__ in, uint4* __restrict__ out) {
    const std::int64_t first = std::int64_t{blockIdx.x} * COPIES * THREADS + threadIdx.x;
    uint4 kept[COPIES];
#pragma unroll
    for (int i = 0; i < COPIES; ++i) kept[i] = in[first + i * THREADS];
#pragma unroll
    for (int i = 0; i < COPIES; ++i) out[first + i * THREADS] = kept[i];
}

// in: [rows][THREADS].  sums: [blocks][THREADS]. Every block reads all rows, each from another one on, and
// far enough from its neighbors: of what several SMs ask for at the same time L2 reads some only once.
// __ldcg is ld.global.cg, which L1 does not keep (PTX ISA, Cache Operators).
constexpr int L2_LOADS = 8;  // that are under way together; rows is a multiple

__global__ void __launch_bounds__(THREADS, 4) l2_read(const uint4* in, unsigned* sums, int rows) {
    int row = static_cast<int>(std::int64_t{blockIdx.x} * rows / gridDim.x);
    unsigned all = 0;
    for (int r = 0; r < rows; r += L2_LOADS) {
        uint4 v[L2_LOADS];
#pragma unroll
        for (int i = 0; i < L2_LOADS; ++i) {
            v[i] = __ldcg(in + std::int64_t{row} * THREADS + threadIdx.x);
            row = row + 1 == rows ? 0 : row + 1;
        }
#pragma unroll
        for (int i = 0; i < L2_LOADS; ++i) all += sum(v[i]);
    }
    sums[blockIdx.x * THREADS + threadIdx.x] = all;
}

// sums: [blocks][THREADS]. A warp's load is 512 bytes in a row: four wavefronts, no bank conflict. volatile:
// or the loads, which find the same in each round, would leave the loop.
constexpr int SHARED_LOADS = 16;

__global__ void __launch_bounds__(THREADS, 4) shared_read(unsigned* sums, int rounds) {
    __shared__ uint4 tile[SHARED_LOADS][WARP];
    for (int i = threadIdx.x; i < SHARED_LOADS * WARP; i += THREADS) tile[i / WARP][i % WARP] = words(i);
    __syncthreads();
    const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(&tile[0][threadIdx.x % WARP]));
    unsigned all = 0;
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int i = 0; i < SHARED_LOADS; ++i) {
            uint4 v;
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                         : "r"(from + i * WARP * VECTOR));
            all += sum(v);
        }
    }
    sums[blockIdx.x * THREADS + threadIdx.x] = all;
}

// The inputs of both FFMA kernels: a row of floats a thread, one of SETS, so that the host can compute them
// all.
constexpr int SETS = 4;

// in: [SETS][2 + CHAINS]: x, y and the starts.  out: [blocks][THREADS]. Independent chains, of which each
// step needs two operands that stay and one that is its own: reading registers does not limit it.
constexpr int CHAINS = 16, CHAIN_UNROLL = 32;

__global__ void __launch_bounds__(THREADS, 4) ffma(const float* in, float* out, int steps) {
    in += threadIdx.x % SETS * (2 + CHAINS);
    const float x = in[0], y = in[1];
    float acc[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) acc[i] = in[2 + i];
#pragma unroll CHAIN_UNROLL
    for (int s = 0; s < steps; ++s) {
#pragma unroll
        for (int i = 0; i < CHAINS; ++i) acc[i] = fmaf(acc[i], x, y);
    }
    float all = 0.0f;
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) all += acc[i];
    out[blockIdx.x * THREADS + threadIdx.x] = all;
}

// in: [SETS][TM + TN]: a_frag and b_frag.  out: [blocks][THREADS]. What a GEMM thread computes for each k,
// without the loads that bring the next fragments.
constexpr int TM = 8, TN = 16, OUTER_UNROLL = 4;

__global__ void __launch_bounds__(THREADS) ffma_outer_product(const float* in, float* out, int steps) {
    in += threadIdx.x % SETS * (TM + TN);
    float a_frag[TM], b_frag[TN], acc[TM][TN] = {};
#pragma unroll
    for (int m = 0; m < TM; ++m) a_frag[m] = in[m];
#pragma unroll
    for (int n = 0; n < TN; ++n) b_frag[n] = in[TM + n];
#pragma unroll OUTER_UNROLL
    for (int s = 0; s < steps; ++s) {
#pragma unroll
        for (int m = 0; m < TM; ++m) {
#pragma unroll
            for (int n = 0; n < TN; ++n) acc[m][n] = fmaf(a_frag[m], b_frag[n], acc[m][n]);
        }
    }
    float all = 0.0f;
#pragma unroll
    for (int m = 0; m < TM; ++m) {
#pragma unroll
        for (int n = 0; n < TN; ++n) all += acc[m][n];
    }
    out[blockIdx.x * THREADS + threadIdx.x] = all;
}

/// A ceiling and how it is measured.
struct Bench {
    Ceiling ceiling;
    double per_clock = 0;  // of an SM: bytes or FLOP, by the Programming Guide; 0 where it does not say
    std::function<void(cudaStream_t)> launch;
    std::function<void()> spoil;  // overwrites what the launches before have left
    std::function<bool()> right;  // whether the launches since spoil() left what the host computes
};

Bench named(const char* name, const char* unit, const char* how, double work) {
    Bench b;
    b.ceiling.name = name;
    b.ceiling.unit = unit;
    b.ceiling.how = how;
    b.ceiling.work = work;
    return b;
}

std::shared_ptr<Buffer> memory(std::size_t floats) {
    return std::make_shared<Buffer>(floats, 0);
}

uint4* vectors(const Buffer& buffer) {
    return reinterpret_cast<uint4*>(buffer.data());
}

unsigned* unsigneds(const Buffer& buffer) {
    return reinterpret_cast<unsigned*>(buffer.data());
}

void spoil(const Buffer& buffer) {
    CUDA_CHECK(cudaMemset(buffer.data(), 0xff, buffer.size() * sizeof(float)));
}

/// Whether `got`, [blocks][THREADS], repeats `expected`, whose length divides THREADS, bit by bit.
template <typename T>
bool repeats(const Buffer& got, const std::vector<T>& expected) {
    static_assert(sizeof(T) == sizeof(float), "a Buffer's elements");
    std::vector<T> host(got.size());
    CUDA_CHECK(cudaMemcpy(host.data(), got.data(), host.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < host.size(); ++i) {
        if (!(host[i] == expected[i % expected.size()])) return false;  // NaN is wrong, too
    }
    return got.breach("the sums").empty();
}

/// As many blocks as the GPU holds at once, times `waves`.
template <typename Kernel>
int grid(Kernel kernel, const Device& device, int waves) {
    int blocks = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, THREADS, 0));
    return std::max(blocks, 1) * device.multiprocessors * waves;
}

int attribute(cudaDeviceAttr which) {
    int device = 0, value = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    if (cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) {
        (void)cudaGetLastError();  // a driver that does not tell
        return 0;
    }
    return value;
}

/// FFMA that an SM completes in a clock (CUDA C++ Programming Guide, Throughput of Native Arithmetic
/// Instructions).
int ffma_per_clock(int sm) {
    return sm <= 80 ? 64 : 128;
}

Bench copy_bench(const Device& device) {
    constexpr std::int64_t block = std::int64_t{COPIES} * THREADS * VECTOR;
    std::size_t free = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    const std::int64_t wanted = std::max<std::int64_t>(16 * device.l2_bytes, 256 << 20);
    const std::int64_t blocks = std::min<std::int64_t>(wanted, static_cast<std::int64_t>(free / 4)) / block;
    const std::int64_t bytes = blocks * block;
    if (bytes < 4 * device.l2_bytes || bytes == 0)
        throw Error("The GPU has too little free memory to measure it: a copy needs two buffers of " +
                    std::to_string(4 * device.l2_bytes >> 20) + " MiB.");
    const auto in = memory(static_cast<std::size_t>(bytes / 4));
    const auto out = memory(static_cast<std::size_t>(bytes / 4));
    const auto wrong = memory(1);
    const unsigned all = static_cast<unsigned>(blocks * COPIES);
    fill<<<all, THREADS>>>(vectors(*in));
    CUDA_CHECK(cudaGetLastError());

    Bench b = named("DRAM copy", "TB/s", "float4 copy, read + written", 2.0 * static_cast<double>(bytes));
    // CUDA C++ Best Practices Guide, Theoretical Bandwidth Calculation: two transfers a clock. kHz and bits.
    b.ceiling.theoretical =
        2e-12 * 1e3 * attribute(cudaDevAttrMemoryClockRate) * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
    b.launch = [=](cudaStream_t stream) {
        copy<<<static_cast<unsigned>(blocks), THREADS, 0, stream>>>(vectors(*in), vectors(*out));
    };
    b.spoil = [=] { spoil(*out); };
    b.right = [=] {
        CUDA_CHECK(cudaMemset(wrong->data(), 0, sizeof(float)));
        count_wrong<<<all, THREADS>>>(vectors(*out), unsigneds(*wrong));
        CUDA_CHECK(cudaGetLastError());
        return repeats(*wrong, std::vector<unsigned>{0}) && out->breach("the copy").empty();
    };
    return b;
}

Bench l2_bench(const Device& device) {
    // A third of L2: enough rows to keep the blocks apart, and either half of L2 can hold them all.
    constexpr std::int64_t row = std::int64_t{THREADS} * VECTOR;
    const int rows =
        static_cast<int>(std::max<std::int64_t>(device.l2_bytes / 3 / (row * L2_LOADS), 1)) * L2_LOADS;
    const int blocks = grid(l2_read, device, 4);
    const auto in = memory(static_cast<std::size_t>(rows * row / 4));
    const auto sums = memory(static_cast<std::size_t>(blocks) * THREADS);
    fill<<<static_cast<unsigned>(rows), THREADS>>>(vectors(*in));
    CUDA_CHECK(cudaGetLastError());
    std::vector<unsigned> expected(THREADS, 0);
    for (std::int64_t i = 0; i < std::int64_t{rows} * THREADS; ++i)
        expected[static_cast<std::size_t>(i % THREADS)] += sum(words(i));

    Bench b =
        named("L2 read", "TB/s", "ld.global.cg of what L2 holds", static_cast<double>(rows * row) * blocks);
    b.launch = [=](cudaStream_t stream) {
        l2_read<<<blocks, THREADS, 0, stream>>>(vectors(*in), unsigneds(*sums), rows);
    };
    b.spoil = [=] { spoil(*sums); };
    b.right = [=] { return repeats(*sums, expected); };
    return b;
}

Bench shared_bench(const Device& device) {
    constexpr int rounds = 1021;  // odd: no bit of a sum is lost in the product
    const int blocks = grid(shared_read, device, 1);
    const auto sums = memory(static_cast<std::size_t>(blocks) * THREADS);
    std::vector<unsigned> expected(WARP, 0);
    for (int i = 0; i < SHARED_LOADS * WARP; ++i)
        expected[static_cast<std::size_t>(i % WARP)] += rounds * sum(words(i));

    Bench b = named("shared memory read", "TB/s", "LDS.128 without conflicts",
                    double{VECTOR} * SHARED_LOADS * rounds * THREADS * blocks);
    b.per_clock = 128;  // 32 banks of 4 bytes
    b.launch = [=](cudaStream_t stream) {
        shared_read<<<blocks, THREADS, 0, stream>>>(unsigneds(*sums), rounds);
    };
    b.spoil = [=] { spoil(*sums); };
    b.right = [=] { return repeats(*sums, expected); };
    return b;
}

/// `count` numbers in [-0.5, 0.5): zeros and small integers would draw less power than a GEMM's inputs.
std::vector<float> numbers(int count) {
    std::vector<float> in(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
        in[static_cast<std::size_t>(i)] = static_cast<float>(word(i) >> 8) * 0x1p-24f - 0.5f;
    return in;
}

/// The rest of both: `b` named, its work that of one thread.
Bench ffma_bench(Bench b, void (*kernel)(const float*, float*, int), const std::vector<float>& host,
                 const std::vector<float>& expected, int steps, const Device& device) {
    const int blocks = grid(kernel, device, 1);
    const auto in = memory(host.size());
    const auto out = memory(static_cast<std::size_t>(blocks) * THREADS);
    in->upload(elements(DType::fp32, host));
    b.ceiling.work *= double{THREADS} * blocks;
    b.per_clock = 2.0 * ffma_per_clock(device.sm);
    b.launch = [=](cudaStream_t stream) {
        kernel<<<blocks, THREADS, 0, stream>>>(static_cast<const float*>(in->data()),
                                               static_cast<float*>(out->data()), steps);
    };
    b.spoil = [=] { spoil(*out); };
    b.right = [=] { return repeats(*out, expected); };
    return b;
}

Bench chains_bench(const Device& device) {
    constexpr int steps = 16384, row = 2 + CHAINS;
    static_assert(steps % CHAIN_UNROLL == 0, "no remainder beside the loop");
    std::vector<float> in = numbers(SETS * row), expected;
    for (int set = 0; set < SETS; ++set) {
        float* const mine = in.data() + set * row;
        mine[0] = 1.0f - 0x1p-16f * static_cast<float>(1 + set);  // near 1: the start still counts at the end
        mine[1] *= 0x1p-10f;
        float all = 0.0f;
        for (int i = 0; i < CHAINS; ++i) {
            float acc = mine[2 + i];
            for (int s = 0; s < steps; ++s) acc = std::fmaf(acc, mine[0], mine[1]);
            all += acc;
        }
        expected.push_back(all);
    }
    return ffma_bench(named("FFMA", "TFLOP/s", "on registers alone", 2.0 * steps * CHAINS), ffma, in,
                      expected, steps, device);
}

Bench outer_bench(const Device& device) {
    constexpr int steps = 16384, row = TM + TN;
    static_assert(steps % OUTER_UNROLL == 0, "no remainder beside the loop");
    const std::vector<float> in = numbers(SETS * row);
    std::vector<float> expected;
    for (int set = 0; set < SETS; ++set) {
        const float* const mine = in.data() + set * row;
        float all = 0.0f;
        for (int m = 0; m < TM; ++m) {
            for (int n = 0; n < TN; ++n) {
                float acc = 0.0f;
                for (int s = 0; s < steps; ++s) acc = std::fmaf(mine[m], mine[TM + n], acc);
                all += acc;
            }
        }
        expected.push_back(all);
    }
    return ffma_bench(
        named("FFMA, 8×16 outer product", "TFLOP/s", "on registers alone", 2.0 * steps * TM * TN),
        ffma_outer_product, in, expected, steps, device);
}

}  // namespace

std::vector<Ceiling> measure_ceilings(
    const Device& device,
    const std::function<void(int done, int total, const std::string& ceiling)>& progress) {
    std::vector<Bench> benches;
    for (const auto make : {copy_bench, l2_bench, shared_bench, chains_bench, outer_bench})
        benches.push_back(make(device));
    CUDA_CHECK(cudaDeviceSynchronize());

    std::vector<Contender> contenders;
    for (const Bench& b : benches) {
        contenders.push_back(
            {b.ceiling.name, [&b](const Problem&, std::size_t, cudaStream_t stream) { b.launch(stream); }});
    }
    TimingOptions options;
    options.progress = progress;
    options.before_last = [&](std::size_t i, std::size_t) { benches[i].spoil(); };
    options.after_last = [&](std::size_t i, std::size_t) {
        if (!benches[i].right())
            throw Error("The kernel that measures " + benches[i].ceiling.name +
                        " left a wrong result; no figure of it would mean anything.");
    };
    const std::vector<Timing> timings = time_interleaved(contenders, std::vector<Problem>(1), options);

    std::vector<Ceiling> ceilings;
    for (std::size_t i = 0; i < benches.size(); ++i) {
        Ceiling c = std::move(benches[i].ceiling);
        c.timing = timings[i];
        const double clocks = 1e6 * c.timing.sm_clock_mhz * device.multiprocessors;  // of all SMs, a second
        if (benches[i].per_clock > 0) c.theoretical = 1e-12 * benches[i].per_clock * clocks;
        ceilings.push_back(std::move(c));
    }
    return ceilings;
}

}  // namespace gemm
