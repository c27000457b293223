// What NVML says about the GPU while it works: SM clock, power and energy. Only in CUDA builds.
#pragma once

#include <string>

namespace gemm {

/// The current CUDA device, as the driver's management library sees it. Everything is 0 or empty where the
/// library is missing or does not answer (a container without it, WSL, MIG): the figures describe a timing,
/// nothing depends on them. Nothing throws.
class Nvml {
  public:
    Nvml();

    double sm_clock_mhz() const;
    /// Of the whole board. Instantaneous where the driver offers it (530 and later), refreshed some 10 to 50
    /// times a second; else the average of the last second. Shorter samples see their neighbors' power too.
    double power_w() const;
    /// What the whole board has taken since the driver was loaded; 0 where there is no such counter (before
    /// Volta, and on some GPUs since).
    double energy_j() const;
    /// The driver's own version, "580.65.06"; empty where the library does not tell.
    std::string driver_version() const;
    /// The limit in force.
    double power_limit_w() const;

  private:
    void* device_ = nullptr;
    int (*clock_info_)(void*, int, unsigned*) = nullptr;
    int (*power_usage_)(void*, unsigned*) = nullptr;
    int (*power_limit_)(void*, unsigned*) = nullptr;
    int (*energy_)(void*, unsigned long long*) = nullptr;
    int (*field_values_)(void*, int, void*) = nullptr;
    int (*driver_version_)(char*, unsigned) = nullptr;
};

}  // namespace gemm
