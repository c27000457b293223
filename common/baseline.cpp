#include "common/baseline.hpp"

#include <cublas_v2.h>
#include <cuda.h>  // types only: the driver's functions are looked up at run time, so that libcuda is not linked
#include <cxxabi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <vector>

#include "common/buffer.hpp"
#include "common/error.hpp"
#include "common/parallel.hpp"

namespace gemm {
namespace {

void check_cublas(cublasStatus_t status, const char* expression, const char* file, int line) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw Error(std::string(cublasGetStatusName(status)) + " (" + cublasGetStatusString(status) + ") from " +
                expression + " at " + file + ":" + std::to_string(line));
}

#define CUBLAS_CHECK(expression) check_cublas((expression), #expression, __FILE__, __LINE__)

// What cuBLAS recommends for Hopper; other architectures need less. Given explicitly so that nothing is
// allocated while a launch is timed or captured. (cuBLAS documentation, cublasSetWorkspace.)
constexpr std::size_t kWorkspaceFloats = std::size_t{8} << 20;

constexpr std::int64_t kGrain = 1 << 16;  // elements that are worth a thread

/// A device copy of |m|.
Buffer upload_absolute(const std::vector<float>& m) {
    if (m.empty()) return Buffer(0, 0);
    std::vector<float> absolute(m.size());
    parallel_for(std::ssize(m), kGrain, [&](std::int64_t first, std::int64_t last) {
        std::transform(&m[0] + first, &m[0] + last, &absolute[0] + first,
                       [](float x) { return std::fabs(x); });
    });
    Buffer buffer(m.size(), 0);
    buffer.upload(absolute);
    return buffer;
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
    Buffer workspace{kWorkspaceFloats, 0};
    cudaStream_t stream = nullptr;
    bool bound = false;  // whether the handle is set to `stream`

    Impl() {
        CUBLAS_CHECK(cublasCreate(&handle));
        const cublasStatus_t status = cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH);
        if (status != CUBLAS_STATUS_SUCCESS) {
            cublasDestroy(handle);
            CUBLAS_CHECK(status);
        }
    }
    ~Impl() { cublasDestroy(handle); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    void bind(cudaStream_t to) {
        if (bound && stream == to) return;
        bound = false;
        CUBLAS_CHECK(cublasSetStream(handle, to));  // also forgets the workspace
        CUBLAS_CHECK(cublasSetWorkspace(handle, workspace.data(), kWorkspaceFloats * sizeof(float)));
        stream = to;
        bound = true;
    }
};

Baseline::Baseline() : impl_(std::make_unique<Impl>()) {}
Baseline::~Baseline() = default;

void Baseline::launch(const Problem& p, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    impl_->bind(stream);
    // cuBLAS is column-major: there, a row-major M×N matrix of pitch ld is its N×M transpose with leading
    // dimension ld. So Cᵀ = alpha·Bᵀ·Aᵀ + beta·Cᵀ, N×M from N×K and K×M, and no operand is transposed. cuBLAS
    // wants leading dimensions ≥ 1 also where K == 0.
    const std::int64_t lda = std::max<std::int64_t>(p.lda, 1), ldb = std::max<std::int64_t>(p.ldb, 1),
                       ldc = std::max<std::int64_t>(p.ldc, 1);
    if (std::max({p.M, p.N, p.K, lda, ldb, ldc}) <= std::numeric_limits<int>::max()) {
        CUBLAS_CHECK(cublasGemmEx(impl_->handle, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(p.N),
                                  static_cast<int>(p.M), static_cast<int>(p.K), &p.alpha, p.B, CUDA_R_32F,
                                  static_cast<int>(ldb), p.A, CUDA_R_32F, static_cast<int>(lda), &p.beta, p.C,
                                  CUDA_R_32F, static_cast<int>(ldc), CUBLAS_COMPUTE_32F,
                                  CUBLAS_GEMM_DEFAULT));
    } else {
        CUBLAS_CHECK(cublasGemmEx_64(impl_->handle, CUBLAS_OP_N, CUBLAS_OP_N, p.N, p.M, p.K, &p.alpha, p.B,
                                     CUDA_R_32F, ldb, p.A, CUDA_R_32F, lda, &p.beta, p.C, CUDA_R_32F, ldc,
                                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    }
}

const char* Baseline::name() const {
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
    impl_->bound = false;  // the handle must not keep a stream that is gone
    cublasSetStream(impl_->handle, nullptr);
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
    w.reset_c();
    launch(w.problem(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    {
        const std::vector<float> c = w.download_c();
        parallel_for(M, kGrain / N + 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t row = first; row < last; ++row) {
                std::copy_n(c.data() + row * pitch, N, result.value.data() + row * N);
            }
        });
    }

    // |A|·|B| into the workload's own C: at the sizes this is for, one more matrix may be one too many.
    {
        const Buffer a = upload_absolute(w.host().A), b = upload_absolute(w.host().B);
        Problem p = w.problem();
        p.A = a.data();
        p.B = b.data();
        p.alpha = 1.0f;
        p.beta = 0.0f;
        launch(p, nullptr);
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    {
        const std::vector<float> product = w.download_c();
        const std::vector<float>& c0 = w.host().C;
        const float alpha = std::fabs(shape.alpha), beta = std::fabs(shape.beta);
        parallel_for(M, kGrain / N + 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t row = first; row < last; ++row) {
                const float* const from = product.data() + row * pitch;
                const float* const c = c0.data() + row * pitch;
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
