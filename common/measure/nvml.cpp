#include "common/measure/nvml.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

namespace gemm {
namespace {

// Declared here because nvml.h is an optional part of the toolkit, and looked up at run time because the
// library belongs to the driver. Signatures and constants: NVML API Reference Guide, chapters "Initialization
// and Cleanup", "System Queries", "Device Queries" and "Field Value Enums". Every function returns
// nvmlReturn_t, of which 0 is success.
using Init = int (*)();
using HandleByPciBusId = int (*)(const char*, void**);
constexpr int kClockSm = 1;                   // NVML_CLOCK_SM
constexpr unsigned kFieldPowerInstant = 186;  // NVML_FI_DEV_POWER_INSTANT, in milliwatts

// nvmlFieldValue_t
struct FieldValue {
    unsigned field = 0, scope = 0;
    long long timestamp = 0, latency = 0;
    int type = 0, status = 0;
    union {
        double real;
        unsigned integer;
        unsigned long long wide;
    } value = {0.0};
};
constexpr int kTypeUnsigned = 1;  // NVML_VALUE_TYPE_UNSIGNED_INT

template <typename Function>
Function find(void* library, const char* symbol) {
    return reinterpret_cast<Function>(dlsym(library, symbol));
}

double watts(int (*query)(void*, unsigned*), void* device) {
    unsigned milliwatts = 0;
    if (device == nullptr || query == nullptr || query(device, &milliwatts) != 0) return 0.0;
    return milliwatts / 1000.0;
}

}  // namespace

Nvml::Nvml() {
    // Never closed: the library stays initialised for the process, so that the next Nvml costs nothing.
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto init = find<Init>(library, "nvmlInit_v2");
    const auto by_bus_id = find<HandleByPciBusId>(library, "nvmlDeviceGetHandleByPciBusId_v2");
    if (init == nullptr || by_bus_id == nullptr || init() != 0) return;

    driver_version_ = find<decltype(driver_version_)>(library, "nvmlSystemGetDriverVersion");
    // CUDA and NVML number devices differently (CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER): the bus id is the
    // same.
    int ordinal = 0;
    char bus_id[32] = "";
    void* device = nullptr;
    if (cudaGetDevice(&ordinal) != cudaSuccess ||
        cudaDeviceGetPCIBusId(bus_id, static_cast<int>(sizeof bus_id), ordinal) != cudaSuccess ||
        by_bus_id(bus_id, &device) != 0) {
        return;
    }
    device_ = device;
    clock_info_ = find<decltype(clock_info_)>(library, "nvmlDeviceGetClockInfo");
    power_usage_ = find<decltype(power_usage_)>(library, "nvmlDeviceGetPowerUsage");
    power_limit_ = find<decltype(power_limit_)>(library, "nvmlDeviceGetEnforcedPowerLimit");
    energy_ = find<decltype(energy_)>(library, "nvmlDeviceGetTotalEnergyConsumption");
    field_values_ = find<decltype(field_values_)>(library, "nvmlDeviceGetFieldValues");
}

double Nvml::sm_clock_mhz() const {
    unsigned mhz = 0;
    if (device_ == nullptr || clock_info_ == nullptr || clock_info_(device_, kClockSm, &mhz) != 0) return 0.0;
    return mhz;
}

double Nvml::power_w() const {
    if (device_ != nullptr && field_values_ != nullptr) {
        FieldValue power;
        power.field = kFieldPowerInstant;
        if (field_values_(device_, 1, &power) == 0 && power.status == 0 && power.type == kTypeUnsigned) {
            return power.value.integer / 1000.0;
        }
    }
    return watts(power_usage_, device_);
}

double Nvml::energy_j() const {
    unsigned long long millijoules = 0;
    if (device_ == nullptr || energy_ == nullptr || energy_(device_, &millijoules) != 0) return 0.0;
    return static_cast<double>(millijoules) / 1000.0;
}

std::string Nvml::driver_version() const {
    char version[96] = "";  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE is 80
    return driver_version_ != nullptr && driver_version_(version, sizeof version) == 0 ? version : "";
}

double Nvml::power_limit_w() const {
    return watts(power_limit_, device_);
}

}  // namespace gemm
