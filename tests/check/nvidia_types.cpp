// What NVIDIA's own headers make of numbers, on the host: a program of its own, because the CPU device's
// headers have the same names. It prints tests/recorded/nvidia_types.json, which codec_test.cpp holds the
// codecs against:
//     build/cpu/bin/nvidia_types > tests/recorded/nvidia_types.json
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/check/float_samples.hpp"

namespace {

using Json = nlohmann::ordered_json;

struct Bf16 {
    static std::uint32_t encode(float x) { return __nv_bfloat16_raw(__float2bfloat16_rn(x)).x; }
    static std::uint32_t encode(double x) { return __nv_bfloat16_raw(__double2bfloat16(x)).x; }
    static float decode(std::uint32_t bits) {
        __nv_bfloat16_raw raw;
        raw.x = static_cast<unsigned short>(bits);
        return __bfloat162float(__nv_bfloat16(raw));
    }
};

struct Fp16 {
    static std::uint32_t encode(float x) { return __half_raw(__float2half_rn(x)).x; }
    static std::uint32_t encode(double x) { return __half_raw(__double2half(x)).x; }
    static float decode(std::uint32_t bits) {
        __half_raw raw;
        raw.x = static_cast<unsigned short>(bits);
        return __half2float(__half(raw));
    }
};

template <__nv_fp8_interpretation_t KIND>
struct Fp8 {
    static std::uint32_t encode(float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, KIND); }
    static std::uint32_t encode(double x) { return __nv_cvt_double_to_fp8(x, __NV_SATFINITE, KIND); }
    static float decode(std::uint32_t bits) {
        return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), KIND)));
    }
};

struct E2m1 {
    static std::uint32_t encode(float x) { return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest); }
    static std::uint32_t encode(double x) { return __nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundNearest); }
    static float decode(std::uint32_t bits) {
        return __half2float(
            __half(__nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(bits), __NV_E2M1)));
    }
};

struct E8m0 {
    static std::uint32_t encode(float x) { return __nv_fp8_e8m0(x).__x; }
    static std::uint32_t encode(double x) { return __nv_fp8_e8m0(x).__x; }
    static float decode(std::uint32_t bits) {
        __nv_fp8_e8m0 value;
        value.__x = static_cast<__nv_fp8_storage_t>(bits);
        return static_cast<float>(value);
    }
};

/// The smallest of the finite FP32 numbers from 0 on that becomes `bits` or more.
template <class Type>
float first_of(std::uint32_t bits) {
    std::uint32_t low = 0, high = 0x7f7fffffu;
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (Type::encode(std::bit_cast<float>(middle)) >= bits) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return std::bit_cast<float>(low);
}

/// "begins": where the numbers from 0 on begin that become 0, 1, 2 … as bits.
template <class Type>
Json facts(int bits, bool every_number) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    Json json{{"values_digest", test::digest_of_values(bits, Type::decode)},
              {"floats_digest", test::digest_of_floats([](auto x) { return Type::encode(x); })},
              {"infinity", Type::encode(kInf)},
              {"minus_infinity", Type::encode(-kInf)},
              {"minus_zero", Type::encode(-0.0f)}};
    if (!every_number) return json;
    json["nan"] = Type::encode(std::numeric_limits<float>::quiet_NaN());
    json["minus_nan"] = Type::encode(-std::numeric_limits<float>::quiet_NaN());
    for (std::uint32_t pattern = 0; pattern >> bits == 0; ++pattern) {
        json["values"].push_back(Type::decode(pattern));  // null for NaN
    }
    for (std::uint32_t pattern = 0; pattern <= Type::encode(std::numeric_limits<float>::max()); ++pattern) {
        json["begins"].push_back(first_of<Type>(pattern));
    }
    return json;
}

}  // namespace

int main() {
    const Json json{{"cuda", CUDART_VERSION},
                    {"types",
                     {{"bf16", facts<Bf16>(16, false)},
                      {"fp16", facts<Fp16>(16, false)},
                      {"e4m3", facts<Fp8<__NV_E4M3>>(8, true)},
                      {"e5m2", facts<Fp8<__NV_E5M2>>(8, true)},
                      {"e2m1", facts<E2m1>(4, true)},
                      {"e8m0", facts<E8m0>(8, true)}}}};
    std::puts(json.dump().c_str());
}
