#include "common/measure/baseline.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>  // types only: the driver's functions are looked up at run time, so that libcuda is not linked
#include <cxxabi.h>

#include <algorithm>
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
#include "common/measure/timer.hpp"

namespace gemm {
namespace {

void check_cublas(cublasStatus_t status, const char* expression, const char* file, int line) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw Error(std::string(cublasGetStatusName(status)) + " (" + cublasGetStatusString(status) + ") from " +
                expression + " at " + file + ":" + std::to_string(line));
}

#define CUBLAS_CHECK(expression) check_cublas((expression), #expression, __FILE__, __LINE__)

// 256 MiB: more than cuBLAS recommends (32 on Hopper), so that no proposal is left out for want of it. Given
// explicitly so that nothing is allocated while a launch is timed or captured. (cuBLAS documentation,
// cublasSetWorkspace.)
constexpr std::size_t kWorkspaceFloats = std::size_t{64} << 20;
constexpr std::size_t kWorkspaceBytes = kWorkspaceFloats * sizeof(float);

constexpr int kHeuristics = 8;  // of cuBLASLt's, that are tried
// Of launches before the trial, so that it is as warm as when it is timed; fewer do on a GPU that was at work
// a moment ago.
constexpr double kWarmMs = 300.0, kBriefWarmMs = 100.0;

constexpr std::int64_t kGrain = 1 << 16;  // elements that are worth a thread

cudaDataType_t cuda_type(DType dtype) {
    return dtype == DType::bf16 ? CUDA_R_16BF : dtype == DType::fp16 ? CUDA_R_16F : CUDA_R_32F;
}

cublasOperation_t operation(bool transposed) {
    return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// Throws Error for a variant that this has no product for.
void require_known(const Variant& v) {
    if (Baseline::knows(v)) return;
    throw Error("cuBLAS has no product of " + text(v) + " to compare with; use --verify-only.");
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

// ---- cuBLASLt ----

/// The largest power of two up to 256, cudaMalloc's alignment, that all of these addresses are multiples of.
std::uint32_t alignment_of(const std::vector<Problem>& problems) {
    std::uintptr_t bits = 256;
    for (const Problem& p : problems) {
        for (const Operand& o : operands(p)) bits |= reinterpret_cast<std::uintptr_t>(o.data);
    }
    return static_cast<std::uint32_t>(bits & -bits);
}

/// Descriptors of one product and of its matrices, column-major as in Baseline::gemm_ex. M, N, K ≥ 1.
class LtProduct {
  public:
    explicit LtProduct(const Problem& p) : fp32_(p.variant.C == DType::fp32) {
        try {
            CUBLAS_CHECK(cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
            const Variant& v = p.variant;
            // cuBLASLt's first operand is B, its second A.
            const cublasOperation_t first = operation(v.b_transposed()), second = operation(v.a_transposed());
            CUBLAS_CHECK(
                cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
            CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                                        sizeof second));
            const auto layout = [](cublasLtMatrixLayout_t& of, DType type, std::int64_t rows,
                                   std::int64_t cols, std::int64_t ld) {
                CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&of, cuda_type(type),
                                                        static_cast<std::uint64_t>(rows),
                                                        static_cast<std::uint64_t>(cols), ld));
            };
            v.b_transposed() ? layout(b_, v.B, p.K, p.N, p.ldb) : layout(b_, v.B, p.N, p.K, p.ldb);
            v.a_transposed() ? layout(a_, v.A, p.M, p.K, p.lda) : layout(a_, v.A, p.K, p.M, p.lda);
            layout(c_, v.C, p.N, p.M, p.ldc);
        } catch (...) {
            destroy();  // the destructor of an object that was not completed does not run
            throw;
        }
    }
    ~LtProduct() { destroy(); }
    LtProduct(const LtProduct&) = delete;
    LtProduct& operator=(const LtProduct&) = delete;

    /// What cuBLASLt proposes, the best guess first, for matrices at multiples of `alignment` bytes; nothing
    /// where it has nothing for this shape. Partial sums are added in FP32 as in a lesson: where C is
    /// shorter, not in its type, in which the other reduction schemes keep them.
    std::vector<cublasLtMatmulAlgo_t> heuristics(cublasLtHandle_t handle, std::uint32_t alignment) const {
        cublasLtMatmulPreference_t preference = nullptr;
        CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
        struct Destroy {
            cublasLtMatmulPreference_t preference;
            ~Destroy() { cublasLtMatmulPreferenceDestroy(preference); }
        } const destroy{preference};
        const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
            CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
        };
        set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspaceBytes});
        set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
            static_cast<std::uint32_t>(fp32_ ? CUBLASLT_REDUCTION_SCHEME_MASK
                                             : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);

        std::vector<cublasLtMatmulHeuristicResult_t> results(kHeuristics);
        int found = 0;
        const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
            handle, product_, b_, a_, c_, c_, preference, kHeuristics, results.data(), &found);
        if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
        CUBLAS_CHECK(status);
        std::vector<cublasLtMatmulAlgo_t> algorithms;
        for (int i = 0; i < found; ++i) {
            const cublasLtMatmulHeuristicResult_t& result = results[static_cast<std::size_t>(i)];
            if (result.state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(result.algo);
        }
        return algorithms;
    }

    cublasStatus_t launch(cublasLtHandle_t handle, const Problem& p, const cublasLtMatmulAlgo_t& algorithm,
                          void* workspace, cudaStream_t stream) const {
        return cublasLtMatmul(handle, product_, &p.alpha, p.B, b_, p.A, a_, &p.beta, p.C, c_, p.C, c_,
                              &algorithm, workspace, kWorkspaceBytes, stream);
    }

  private:
    void destroy() {
        for (const cublasLtMatrixLayout_t layout : {a_, b_, c_}) {
            if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
        }
        if (product_ != nullptr) cublasLtMatmulDescDestroy(product_);
    }

    const bool fp32_;  // C
    cublasLtMatmulDesc_t product_ = nullptr;
    cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
};

/// What choose() found to be faster than cublasGemmEx, and for which problem.
struct Choice {
    Problem problem;
    std::uint32_t alignment;
    std::unique_ptr<LtProduct> product;
    cublasLtMatmulAlgo_t algorithm;
    std::size_t number;  // of the heuristic, from 0

    bool fits(const Problem& p) const {
        return p.M == problem.M && p.N == problem.N && p.K == problem.K && p.lda == problem.lda &&
               p.ldb == problem.ldb && p.ldc == problem.ldc && p.variant == problem.variant &&
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
    options.warm_ms = brief ? kBriefWarmMs : kWarmMs;
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

/// The names of a graph's kernels, " + " between them; empty where the driver is too old to tell
/// (before 12.3).
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

    std::string names;
    for (const cudaGraphNode_t node : nodes) {
        cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
        if (cudaGraphNodeGetType(node, &type) != cudaSuccess || type != cudaGraphNodeTypeKernel) continue;
        CUDA_KERNEL_NODE_PARAMS_v2 params{};
        const char* name = nullptr;
        if (node_params(node, &params) != CUDA_SUCCESS) return "";
        const CUresult status =
            params.func != nullptr ? function_name(&name, params.func) : kernel_name(&name, params.kern);
        if (status != CUDA_SUCCESS || name == nullptr) return "";
        names += (names.empty() ? "" : " + ") + readable(name);
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

    /// cublasGemmEx, into a C of `c_type`.
    void gemm_ex(const Problem& p, cudaDataType_t c_type, cudaStream_t to);
};

void Baseline::Impl::gemm_ex(const Problem& p, cudaDataType_t c_type, cudaStream_t to) {
    require_known(p.variant);
    bind(to);
    // A sum that is split along K is put together in FP32, as in a lesson, and not in the type of C.
    const cublasMath_t wanted = accumulator(p.variant) == Accumulator::fp32
                                    ? CUBLAS_DEFAULT_MATH
                                    : CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    if (math != wanted) {
        CUBLAS_CHECK(cublasSetMathMode(handle, wanted));
        math = wanted;
    }
    // cuBLAS is column-major: there, a row-major M×N matrix of pitch ld is its N×M transpose with leading
    // dimension ld. So Cᵀ = alpha·Bᵀ·Aᵀ + beta·Cᵀ, N×M from N×K and K×M, and an operand is transposed there
    // where the variant has it transposed here. cuBLAS wants leading dimensions ≥ 1 also where K == 0.
    const std::int64_t lda = std::max<std::int64_t>(p.lda, 1), ldb = std::max<std::int64_t>(p.ldb, 1),
                       ldc = std::max<std::int64_t>(p.ldc, 1);
    const cudaDataType_t a_type = cuda_type(p.variant.A), b_type = cuda_type(p.variant.B);
    const cublasOperation_t first = operation(p.variant.b_transposed()),
                            second = operation(p.variant.a_transposed());
    if (std::max({p.M, p.N, p.K, lda, ldb, ldc}) <= std::numeric_limits<int>::max()) {
        CUBLAS_CHECK(cublasGemmEx(handle, first, second, static_cast<int>(p.N), static_cast<int>(p.M),
                                  static_cast<int>(p.K), &p.alpha, p.B, b_type, static_cast<int>(ldb), p.A,
                                  a_type, static_cast<int>(lda), &p.beta, p.C, c_type, static_cast<int>(ldc),
                                  CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    } else {
        CUBLAS_CHECK(cublasGemmEx_64(handle, first, second, p.N, p.M, p.K, &p.alpha, p.B, b_type, ldb, p.A,
                                     a_type, lda, &p.beta, p.C, c_type, ldc, CUBLAS_COMPUTE_32F,
                                     CUBLAS_GEMM_DEFAULT));
    }
}

bool Baseline::knows(const Variant& v) {
    const bool types = v.A == DType::fp32 || v.A == DType::bf16 || v.A == DType::fp16;
    return types && v.plain() && v.batch == Batch::one && v.A == v.B && (v.C == v.A || v.C == DType::fp32);
}

Baseline::Baseline() : impl_(std::make_unique<Impl>()) {}
Baseline::~Baseline() = default;

void Baseline::launch(const Problem& p, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    if (impl_->chosen && impl_->chosen->fits(p)) {
        CUBLAS_CHECK(impl_->chosen->product->launch(impl_->lt, p, impl_->chosen->algorithm,
                                                    impl_->workspace.data(), stream));
    } else {
        impl_->gemm_ex(p, cuda_type(p.variant.C), stream);
    }
}

void Baseline::choose(const std::vector<Problem>& problems, std::uint64_t seed, bool brief,
                      const std::function<void(const std::string&)>& progress) {
    impl_->chosen.reset();
    const Problem& p = problems.at(0);
    require_known(p.variant);
    if (p.M == 0 || p.N == 0 || p.K == 0) return;
    const std::uint32_t alignment = alignment_of(problems);
    auto product = std::make_unique<LtProduct>(p);
    const std::vector<cublasLtMatmulAlgo_t> algorithms = product->heuristics(impl_->lt, alignment);

    std::vector<Contender> contenders = {
        {name(p), [this](const Problem& of, std::size_t, cudaStream_t stream) {
             impl_->gemm_ex(of, cuda_type(of.variant.C), stream);
         }}};
    std::vector<std::size_t> numbers;  // of the heuristics that run
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
        const auto run = [this, &product, &algorithm = algorithms[i]](const Problem& of,
                                                                      cudaStream_t stream) {
            return product->launch(impl_->lt, of, algorithm, impl_->workspace.data(), stream);
        };
        const cublasStatus_t status = run(p, nullptr);
        CUDA_CHECK(cudaDeviceSynchronize());
        if (status != CUBLAS_STATUS_SUCCESS) {  // a proposal that this GPU or this shape refuses
            (void)cudaGetLastError();           // nobody else shall find an error here
            continue;
        }
        numbers.push_back(i);
        contenders.push_back(
            {"cublasLt heuristic " + std::to_string(i),
             [run](const Problem& of, std::size_t, cudaStream_t stream) { CUBLAS_CHECK(run(of, stream)); }});
    }
    if (numbers.empty()) return;  // cublasGemmEx takes every shape

    const std::size_t winner = fastest_of(contenders, problems, seed, brief, progress);
    impl_->unbind();  // the stream of the timing is gone
    if (winner == 0) return;
    const std::size_t number = numbers[winner - 1];
    impl_->chosen.emplace(Choice{p, alignment, std::move(product), algorithms[number], number});
}

std::string Baseline::name(const Problem& p) const {
    if (impl_->chosen && impl_->chosen->fits(p)) {
        return "cublasLt heuristic " + std::to_string(impl_->chosen->number) + ", CUBLAS_COMPUTE_32F";
    }
    return "cublasGemmEx CUBLAS_COMPUTE_32F";
}

std::string Baseline::kernel_name(const Problem& p) {
    if (p.M == 0 || p.N == 0) return "none";
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
    }
    const auto result_of = [&](const Problem& of) {
        impl_->gemm_ex(of, CUDA_R_32F, nullptr);
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
