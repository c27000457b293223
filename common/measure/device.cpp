#include "common/measure/device.hpp"

#include "common/check/operands.hpp"
#include "common/check/variant.hpp"
#include "common/error.hpp"
#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#else
#include "common/measure/nvml.hpp"
#endif

namespace gemm {
namespace {

#ifndef GEMM_CPU_DEVICE
std::string version(int code) {  // 13000 → "13.0"
    return std::to_string(code / 1000) + "." + std::to_string(code % 1000 / 10);
}
#endif

std::string dotted(int sm) {
    return std::to_string(sm / 10) + "." + std::to_string(sm % 10);
}

}  // namespace

Device select_device(int ordinal, const std::string& like, [[maybe_unused]] std::uint64_t schedule) {
    Device device;
#ifdef GEMM_CPU_DEVICE
    device.kind = "cpu";
    if (!like.empty()) cpu_device::set_like(like);
    cpu_device::set_schedule_seed(schedule);
#else
    device.kind = "cuda";
    if (!like.empty()) throw Error("--like is for the CPU device; a GPU has its own limits.");
    int driver = 0, runtime = 0;
    CUDA_CHECK(cudaDriverGetVersion(&driver));
    CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
    if (driver == 0) {
        throw Error("No NVIDIA driver was found; install one, or use the CPU device with GEMM_DEVICE=cpu.");
    }
    if (driver / 1000 < runtime / 1000) {
        throw Error("The NVIDIA driver supports CUDA " + version(driver) +
                    " and this program was built with CUDA " + version(runtime) + "; update the driver.");
    }
    device.runtime = version(runtime);
#endif
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
        throw Error("No CUDA device was found; use the CPU device with GEMM_DEVICE=cpu.");
    }
    CUDA_CHECK(status);
    if (ordinal < 0 || ordinal >= count) {
        throw Error("There is no device " + std::to_string(ordinal) + "; this machine has " +
                    std::to_string(count) + ", device 0 and up.");
    }
    CUDA_CHECK(cudaSetDevice(ordinal));
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, ordinal));
    device.name = properties.name;
    device.sm = 10 * properties.major + properties.minor;
    device.multiprocessors = properties.multiProcessorCount;
    device.l2_bytes = properties.l2CacheSize;
#ifndef GEMM_CPU_DEVICE
    device.driver = Nvml().driver_version();
#endif
    return device;
}

std::string why_skipped(const Lesson& lesson, const Device& device) {
    const Offer& chosen = lesson.offer();
    if (runs_on(chosen.architectures, device.sm)) return {};
    std::string others;  // variants that it would run with
    for (const Offer& offer : lesson.variants) {
        if (runs_on(offer.architectures, device.sm))
            others += (others.empty() ? "" : ", ") + std::string("--variant ") + text(offer.variant);
    }
    return std::string(lesson.name) + " needs a GPU of " + text(chosen.architectures) +
           (lesson.variants.size() > 1 ? " for " + text(chosen.variant) : "") + "; " + device.name + " has " +
           dotted(device.sm) + (others.empty() ? "" : ", which is enough for " + others) + ".";
}

Resources resources(const Lesson& lesson) {
    cudaFuncAttributes attributes{};
    CUDA_CHECK(cudaFuncGetAttributes(&attributes, lesson.offer().kernel));
    Resources r;
    r.threads_per_block = static_cast<int>(lesson.block().x * lesson.block().y * lesson.block().z);
    r.static_shared_bytes = attributes.sharedSizeBytes;
    r.dynamic_shared_bytes = lesson.configuration().dynamic_shared_bytes;
#ifndef GEMM_CPU_DEVICE
    r.registers = attributes.numRegs;
    r.local_bytes = static_cast<int>(attributes.localSizeBytes);
    r.blocks_per_sm = blocks_per_sm(lesson.offer().kernel, lesson.block(), r.dynamic_shared_bytes);
#endif
    return r;
}

std::optional<Tiling> tiling_of(const Lesson& lesson, const Problem& p) {
    if (lesson.tiling == nullptr || p.alpha == 0.0f || flop_of(p) == 0.0) return std::nullopt;
    return lesson.way ? lesson.choosing->tiling(p, *lesson.way) : lesson.tiling(p);
}

int blocks_per_sm(const void* kernel, const dim3& block, std::size_t dynamic_shared_bytes) {
    if (dynamic_shared_bytes > 48 * 1024) {  // which only kernels that were told may have
        CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(dynamic_shared_bytes)));
    }
    int blocks = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel, static_cast<int>(block.x * block.y * block.z), dynamic_shared_bytes));
    return blocks;
}

}  // namespace gemm
