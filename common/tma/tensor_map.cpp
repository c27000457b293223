#include "common/tma/tensor_map.hpp"

#include <cuda_runtime.h>

#include <string>

#include "common/error.hpp"

namespace gemm {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

#ifdef GEMM_CPU_DEVICE
Encode find_encode() {
    return &cuTensorMapEncodeTiled;
}
std::string reason() {
    return cpu_device::tensor_map_refusal();
}
#else
Encode find_encode() {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
    CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                                &found));
#else
    CUDA_CHECK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found));
#endif
    if (found != cudaDriverEntryPointSuccess || function == nullptr) {
        throw Error("The driver has no cuTensorMapEncodeTiled(); tensor maps need one for CUDA 12 or newer.");
    }
    return reinterpret_cast<Encode>(function);
}
std::string reason() {
    return {};
}
#endif

}  // namespace

CUresult encode(const TensorMapFields& f, CUtensorMap* map) {
    static const Encode encode_tiled = find_encode();
    return encode_tiled(map, f.type, static_cast<cuuint32_t>(f.rank), const_cast<void*>(f.address), f.sizes,
                        f.strides, f.box, f.element_strides, f.interleave, f.swizzle, f.l2_promotion, f.fill);
}

CUtensorMap tensor_map(const TensorMapFields& fields) {
    // Not what is returned itself: g++ 12 puts some of its callers' temporaries at addresses that the driver
    // refuses.
    struct {
        CUtensorMap map;
    } aligned;
    const CUresult status = encode(fields, &aligned.map);
    if (status != CUDA_SUCCESS) {
        const std::string why = reason();
        throw Error(
            "cuTensorMapEncodeTiled() refuses the tensor map (CUresult " + std::to_string(status) + ")" +
            (why.empty() ? std::string(": its fields must keep the rules of the CUDA Driver API reference.")
                         : ": " + why + "."));
    }
    return aligned.map;
}

}  // namespace gemm
