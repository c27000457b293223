#include "common/measure/baseline.hpp"

#include <cuda.h>  // types only: the driver's functions are looked up at run time, so that libcuda is not linked
#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "common/check/buffer.hpp"
#include "common/check/dtype.hpp"
#include "common/check/operands.hpp"
#include "common/check/parallel.hpp"
#include "common/check/reference.hpp"
#include "common/check/variant.hpp"
#include "common/error.hpp"
#include "common/measure/contest.hpp"
#include "common/measure/cublas.hpp"
#include "common/measure/timer.hpp"

namespace gemm {
namespace {

// 256 MiB: more than cuBLAS recommends (32 on Hopper), so that no proposal is left out for want of it. Given
// explicitly so that nothing is allocated while a launch is timed or captured. (cuBLAS documentation,
// cublasSetWorkspace.)
constexpr std::size_t kWorkspaceFloats = std::size_t{64} << 20;
constexpr std::size_t kWorkspaceBytes = kWorkspaceFloats * sizeof(float);

constexpr int kHeuristics = 8;  // of cuBLASLt's, that are tried
// Of launches before the trial, so that it is as warm as when it is timed; fewer do on a GPU that was at work
// a moment ago.
constexpr double kWarmMs = 300.0, kWarmBrieflyMs = 100.0;

constexpr std::int64_t kGrain = 1 << 16;  // elements that are worth a thread

/// Throws NoBaseline for a variant that this has no product for.
void require_known(const Variant& v) {
    if (Baseline::knows(v)) return;
    throw NoBaseline("cuBLAS has no product of " + text(v) + ", so there is nothing to time it against.");
}

/// A device copy of |m|, whose type's sign is its uppermost bit.
Buffer upload_absolute(const Elements& m) {
    Elements absolute = m;
    const std::uint32_t sign = std::uint32_t{1} << (info(m.dtype()).bits - 1);
    parallel_for(std::ssize(m.bytes()) * 8 / info(m.dtype()).bits, kGrain,
                 [&](std::int64_t first, std::int64_t last) {
                     for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
                         absolute.set_bits(i, m.bits(i) & ~sign);
                 });
    Buffer buffer(m.size(), 0, m.dtype());
    buffer.upload(absolute);
    return buffer;
}

/// The largest power of two up to 256, cudaMalloc's alignment, that all of these addresses are multiples of.
std::uint32_t alignment_of(const std::vector<Problem>& problems) {
    std::uintptr_t bits = 256;
    for (const Problem& p : problems) {
        for (const Operand& o : operands(p)) bits |= reinterpret_cast<std::uintptr_t>(o.data);
    }
    return static_cast<std::uint32_t>(bits & -bits);
}

/// A way to compute a problem.
struct CublasWay {
    enum class Call { gemm_ex, loop, lt } call = Call::gemm_ex;  // loop: one of gemm_ex for each problem
    std::string name;
    std::shared_ptr<LtProduct> product = {};  // of cuBLASLt
    cublasLtMatmulAlgo_t algorithm = {};
};

CublasWay plain_way(const Variant& v) {
    const std::string call = v.batch == Batch::one ? "cublasGemmEx " : "cublasGemmStridedBatchedEx ";
    return {CublasWay::Call::gemm_ex, call + compute_of(v).name};
}

/// What choose() found to be the fastest, and for which problem.
struct Choice {
    Problem problem;
    std::uint32_t alignment;
    CublasWay way;

    bool fits(const Problem& p) const {
        const auto numbers = [](const Problem& of) {
            return std::array{of.M,   of.N,   of.K,     of.lda,      of.ldb,      of.ldc,      of.ldr,
                              of.ldd, of.lds, of.batch, of.stride_a, of.stride_b, of.stride_c, of.stride_d};
        };
        return p.variant == problem.variant && numbers(p) == numbers(problem) &&
               alignment_of({p}) >= alignment;
    }
};

/// The place of the fastest contender. All of them have run before.
std::size_t fastest_of(const std::vector<Contender>& contenders, const std::vector<Problem>& problems,
                       std::uint64_t seed, bool brief,
                       const std::function<void(const std::string&)>& progress) {
    TimingOptions options;
    options.rounds = 1;
    options.seed = seed;
    options.warm_ms = brief ? kWarmBrieflyMs : kWarmMs;
    options.sample_ms = brief ? kBriefSampleMs : kSampleMs;
    if (progress) {
        options.progress = [&](int, int, const std::string& next) { progress(next); };
    }
    const Timing warm = time_interleaved({contenders[0]}, problems, options).front();
    options.warm_ms = 0.0;
    options.launch_ms = warm.ms_median;
    // A launch in front of the sample is not timed.
    const auto sample_ms = [](const Timing& t) { return t.ms_median * (t.launches_per_sample + 1); };
    const auto race = [&](const std::vector<std::size_t>& candidates, int rounds) {
        std::vector<Contender> here;
        for (const std::size_t i : candidates) here.push_back(contenders[i]);
        options.rounds = rounds;
        ++options.seed;
        std::vector<Standing> standings;
        for (const Timing& t : time_interleaved(here, problems, options))
            standings.push_back({t.ratio, sample_ms(t)});
        return standings;
    };
    return fastest(contenders.size(), sample_ms(warm), race);
}

// ---- names of kernels ----

/// The driver's function `symbol` as of CUDA `version` (1000·major + 10·minor), or null.
template <typename Function>
Function driver_function(const char* symbol, [[maybe_unused]] unsigned version) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion(symbol, &function, version, cudaEnableDefault, &found);
#else
    const cudaError_t status = cudaGetDriverEntryPoint(symbol, &function, cudaEnableDefault, &found);
#endif
    if (status != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
    return reinterpret_cast<Function>(function);
}

/// "void cutlass::Kernel2<…>(Params)" without what says nothing: the return type and the parameters.
std::string readable(const char* mangled) {
    int status = 0;
    char* const demangled = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    std::string name = status == 0 && demangled != nullptr ? demangled : mangled;
    std::free(demangled);
    if (name.rfind("void ", 0) == 0) name.erase(0, 5);
    if (!name.empty() && name.back() == ')') {
        int depth = 0;
        for (std::size_t i = name.size(); i-- > 0;) {
            depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
            if (depth == 0) {
                if (i > 0) name.erase(i);
                break;
            }
        }
    }
    return name;
}

/// The names of a graph's kernels, " + " between them, "64 × " before one that comes as often in a row; empty
/// where the driver is too old to tell (before 12.3).
std::string kernel_names(cudaGraph_t graph) {
    using NodeParams = CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*);
    using FunctionName = CUresult (*)(const char**, CUfunction);
    using KernelName = CUresult (*)(const char**, CUkernel);
    const auto node_params = driver_function<NodeParams>("cuGraphKernelNodeGetParams", 12000);
    const auto function_name = driver_function<FunctionName>("cuFuncGetName", 12030);
    const auto kernel_name = driver_function<KernelName>("cuKernelGetName", 12030);
    if (node_params == nullptr || function_name == nullptr || kernel_name == nullptr) return "";

    std::size_t count = 0;
    if (cudaGraphGetNodes(graph, nullptr, &count) != cudaSuccess || count == 0) return "";
    std::vector<cudaGraphNode_t> nodes(count);
    if (cudaGraphGetNodes(graph, nodes.data(), &count) != cudaSuccess) return "";

    std::vector<std::pair<std::string, int>> launched;  // and how often in a row
    for (const cudaGraphNode_t node : nodes) {
        cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
        if (cudaGraphNodeGetType(node, &type) != cudaSuccess || type != cudaGraphNodeTypeKernel) continue;
        CUDA_KERNEL_NODE_PARAMS_v2 params{};
        const char* name = nullptr;
        if (node_params(node, &params) != CUDA_SUCCESS) return "";
        const CUresult status =
            params.func != nullptr ? function_name(&name, params.func) : kernel_name(&name, params.kern);
        if (status != CUDA_SUCCESS || name == nullptr) return "";
        if (std::string text = readable(name); launched.empty() || launched.back().first != text) {
            launched.emplace_back(std::move(text), 1);
        } else {
            ++launched.back().second;
        }
    }
    std::string names;
    for (const auto& [kernel, times] : launched) {
        names += (names.empty() ? "" : " + ") + (times > 1 ? std::to_string(times) + " × " : "") + kernel;
    }
    return names;
}

}  // namespace

struct Baseline::Impl {
    cublasHandle_t handle = nullptr;
    cublasLtHandle_t lt = nullptr;
    Buffer workspace{kWorkspaceFloats, 0};
    cudaStream_t stream = nullptr;
    bool bound = false;  // whether the handle is set to `stream`
    cublasMath_t math = CUBLAS_DEFAULT_MATH;
    std::optional<Choice> chosen;

    Impl() {
        CUBLAS_CHECK(cublasCreate(&handle));
        try {
            CUBLAS_CHECK(cublasSetMathMode(handle, math));
            CUBLAS_CHECK(cublasLtCreate(&lt));
        } catch (...) {
            cublasDestroy(handle);
            throw;
        }
    }
    ~Impl() {
        chosen.reset();
        cublasLtDestroy(lt);
        cublasDestroy(handle);
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    void bind(cudaStream_t to) {
        if (bound && stream == to) return;
        bound = false;
        CUBLAS_CHECK(cublasSetStream(handle, to));  // also forgets the workspace
        CUBLAS_CHECK(cublasSetWorkspace(handle, workspace.data(), kWorkspaceBytes));
        stream = to;
        bound = true;
    }
    /// Before a stream that the handle is set to goes away.
    void unbind() {
        bound = false;
        cublasSetStream(handle, nullptr);
    }

    /// cublasGemmEx, or its like for a batch.
    cublasStatus_t plain(const Problem& p, cudaStream_t to);
    cublasStatus_t run(const CublasWay& way, const Problem& p, cudaStream_t to);
    /// All that may be tried for a problem; some may refuse it.
    std::vector<CublasWay> ways(const Problem& p, std::uint32_t alignment);
};

cublasStatus_t Baseline::Impl::plain(const Problem& p, cudaStream_t to) {
    bind(to);
    // A sum that is split along K is put together in FP32, as in a lesson, and not in the type of C.
    const cublasMath_t wanted = accumulator(p.variant) == Accumulator::fp32
                                    ? CUBLAS_DEFAULT_MATH
                                    : CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    if (math != wanted) {
        CUBLAS_CHECK(cublasSetMathMode(handle, wanted));
        math = wanted;
    }
    return gemm_ex(handle, p);
}

cublasStatus_t Baseline::Impl::run(const CublasWay& way, const Problem& p, cudaStream_t to) {
    switch (way.call) {
        case CublasWay::Call::gemm_ex:
            return plain(p, to);
        case CublasWay::Call::loop:
            for (const Problem& one : members(p)) {
                if (const cublasStatus_t status = plain(one, to); status != CUBLAS_STATUS_SUCCESS)
                    return status;
            }
            return CUBLAS_STATUS_SUCCESS;
        case CublasWay::Call::lt:
            return way.product->launch(lt, p, way.algorithm, workspace.data(), kWorkspaceBytes, to);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

std::vector<CublasWay> Baseline::Impl::ways(const Problem& p, std::uint32_t alignment) {
    const Variant& v = p.variant;
    const std::string compute = compute_of(v).name;
    std::vector<CublasWay> found;
    if (gemm_ex_knows(v)) {
        found.push_back(plain_way(v));
        if (v.batch != Batch::one)
            found.push_back({CublasWay::Call::loop, "cublasGemmEx in a loop, " + compute});
    }
    if (!lt_knows(v) || p.batch > std::numeric_limits<std::int32_t>::max()) return found;
    const bool fp8 = accumulator(v) == Accumulator::tensor_fp8;
    for (const bool fast_sums : {false, true}) {
        if (fast_sums && !fp8) continue;
        const auto product = std::make_shared<LtProduct>(p, fast_sums);
        const std::vector<cublasLtMatmulAlgo_t> algorithms =
            product->heuristics(lt, kHeuristics, kWorkspaceBytes, alignment);
        for (std::size_t i = 0; i < algorithms.size(); ++i) {
            found.push_back({CublasWay::Call::lt,
                             "cublasLt heuristic " + std::to_string(i) + ", " + compute +
                                 (fast_sums ? ", fast accumulation" : ""),
                             product, algorithms[i]});
        }
    }
    return found;
}

bool Baseline::knows(const Variant& v) {
    return gemm_ex_knows(v) || lt_knows(v);
}

bool Baseline::knows_whole(const Variant& v) {
    const bool types = v.A == DType::fp32 || v.A == DType::bf16 || v.A == DType::fp16;
    return types && v.plain() && v.batch == Batch::one && gemm_ex_knows(v);
}

Baseline::Baseline() : impl_(std::make_unique<Impl>()) {}
Baseline::~Baseline() = default;

void Baseline::launch(const Problem& p, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0 || p.batch == 0) return;
    require_known(p.variant);
    const bool chosen = impl_->chosen && impl_->chosen->fits(p);
    if (!chosen && !gemm_ex_knows(p.variant)) {
        throw NoBaseline("Only cuBLASLt can compute " + text(p.variant) +
                         ", and none of its proposals was chosen.");
    }
    CUBLAS_CHECK(impl_->run(chosen ? impl_->chosen->way : CublasWay{}, p, stream));
}

void Baseline::choose(const std::vector<Problem>& problems, std::uint64_t seed, bool brief,
                      const std::function<void(const std::string&)>& progress) {
    impl_->chosen.reset();
    const Problem& p = problems.at(0);
    require_known(p.variant);
    if (p.M == 0 || p.N == 0 || p.K == 0 || p.batch == 0) return;
    const std::uint32_t alignment = alignment_of(problems);

    std::vector<CublasWay> ways;  // those that run
    for (CublasWay& way : impl_->ways(p, alignment)) {
        const cublasStatus_t status = impl_->run(way, p, nullptr);
        CUDA_CHECK(cudaDeviceSynchronize());
        if (status == CUBLAS_STATUS_SUCCESS) {
            ways.push_back(std::move(way));
            continue;
        }
        // A proposal that this GPU or this shape refuses, or pitches that cublasGemmEx does.
        if (!is_refusal(status) && way.call != CublasWay::Call::lt) CUBLAS_CHECK(status);
        (void)cudaGetLastError();  // nobody else shall find an error here
    }
    if (ways.empty()) {
        throw NoBaseline("cuBLAS has no call here to time " + text(p.variant) +
                         " against: " + refused_where(p.variant) + ".");
    }

    std::vector<Contender> contenders;
    for (const CublasWay& way : ways) {
        contenders.push_back({way.name, [this, &way](const Problem& of, std::size_t, cudaStream_t stream) {
                                  CUBLAS_CHECK(impl_->run(way, of, stream));
                              }});
    }
    std::size_t winner = 0;
    if (ways.size() > 1) winner = fastest_of(contenders, problems, seed, brief, progress);
    impl_->unbind();  // the stream of the timing is gone
    impl_->chosen.emplace(Choice{p, alignment, std::move(ways[winner])});
}

std::string Baseline::name(const Problem& p) const {
    return impl_->chosen && impl_->chosen->fits(p) ? impl_->chosen->way.name : plain_way(p.variant).name;
}

std::string Baseline::kernel_name(const Problem& p) {
    if (p.M == 0 || p.N == 0 || p.batch == 0) return "none";
    // Captured launches do not run: p.C stays as it is.
    cudaStream_t stream = nullptr;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraph_t graph = nullptr;
    std::string names;
    // Bound before the capture begins, of which setting a workspace may not be part.
    bool bound = true;
    try {
        impl_->bind(stream);
    } catch (const Error&) {
        bound = false;
    }
    // Relaxed: cuBLAS may load code or query the device on the way, which stricter modes forbid.
    if (bound && cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess) {
        bool captured = true;
        try {
            launch(p, stream);
        } catch (const Error&) {
            captured = false;
        }
        if (cudaStreamEndCapture(stream, &graph) == cudaSuccess && captured && graph != nullptr) {
            names = kernel_names(graph);
        }
    }
    if (graph != nullptr) cudaGraphDestroy(graph);
    impl_->unbind();  // the handle must not keep a stream that is gone
    cudaStreamDestroy(stream);
    cudaGetLastError();  // a name that cannot be had is no error: nobody else shall find one here
    return names.empty() ? "unknown" : names;
}

DeviceWhole Baseline::whole_on_device(const Workload& w) {
    const Problem given = w.problem();
    const auto count = static_cast<std::size_t>(given.M * given.N);
    DeviceWhole whole{Buffer(count, 0), Buffer(count, 0)};
    Problem p = given;
    p.variant.C = DType::fp32;
    p.C = whole.value.data();
    CUBLAS_CHECK(impl_->plain(p, nullptr));
    const std::int64_t a_count = given.M * given.K, b_count = given.K * given.N;
    const Buffer a(static_cast<std::size_t>(a_count), 0, given.variant.A);
    const Buffer b(static_cast<std::size_t>(b_count), 0, given.variant.B);
    absolute_on_device(given.variant.A, given.A, a.data(), a_count);
    absolute_on_device(given.variant.B, given.B, b.data(), b_count);
    p.A = a.data();
    p.B = b.data();
    p.C = whole.magnitude.data();
    CUBLAS_CHECK(impl_->plain(p, nullptr));
    CUDA_CHECK(cudaDeviceSynchronize());
    return whole;
}

WholeMatrix Baseline::whole(Workload& w) {
    const Shape& shape = w.shape();
    const std::int64_t M = shape.M, N = shape.N, pitch = shape.ldc;
    WholeMatrix result;
    result.value.resize(static_cast<std::size_t>(M * N));
    result.magnitude.resize(static_cast<std::size_t>(M * N));
    if (M == 0 || N == 0) {
        w.reset_c();
        return result;
    }

    // Everything here goes through the default stream, so that copies and launches keep their order.
    // A C of FP32: the workload's own, for one more may be one too many, or, where that is shorter, another.
    w.reset_c();
    Problem p = w.problem();
    std::optional<Buffer> longer;
    if (p.variant.C != DType::fp32) {
        longer.emplace(w.host().C.size(), 0);
        if (shape.beta != 0.0f) longer->upload(elements(DType::fp32, floats(w.host().C)));
        p.C = longer->data();
        p.variant.C = DType::fp32;
    }
    const auto result_of = [&](const Problem& of) {
        CUBLAS_CHECK(impl_->plain(of, nullptr));
        CUDA_CHECK(cudaDeviceSynchronize());
        return longer ? longer->download() : w.download_c();
    };
    const auto values_of = [](const Elements& fp32) {  // where they are: a copy takes seconds
        return reinterpret_cast<const float*>(fp32.bytes().data());
    };
    {
        const Elements result_c = result_of(p);
        const float* const c = values_of(result_c);
        parallel_for(M, kGrain / N + 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t row = first; row < last; ++row) {
                std::copy_n(c + row * pitch, N, result.value.data() + row * N);
            }
        });
    }

    {
        Elements product;  // |A|·|B|
        {
            const Buffer a = upload_absolute(w.host().A), b = upload_absolute(w.host().B);
            p.A = a.data();
            p.B = b.data();
            p.alpha = 1.0f;
            p.beta = 0.0f;
            product = result_of(p);
        }
        const std::vector<float> c0 = shape.beta != 0.0f ? floats(w.host().C) : std::vector<float>();
        const float* const ab = values_of(product);
        const float alpha = std::fabs(shape.alpha), beta = std::fabs(shape.beta);
        parallel_for(M, kGrain / N + 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t row = first; row < last; ++row) {
                const float* const from = ab + row * pitch;
                const float* const c = beta != 0.0f ? c0.data() + row * pitch : nullptr;
                float* const to = result.magnitude.data() + row * N;
                // BLAS's rules for scalars: what a zero switches off is not read, it may be NaN.
                for (std::int64_t col = 0; col < N; ++col) {
                    to[col] = (alpha == 0.0f ? 0.0f : alpha * from[col]) +
                              (beta == 0.0f ? 0.0f : beta * std::fabs(c[col]));
                }
            }
        });
    }
    w.reset_c();
    return result;
}

}  // namespace gemm
