// The normally distributed numbers that matrices are filled with, by a counter, so that any thread of the
// host or of a device can draw any element: the same bits for a seed everywhere.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

namespace gemm {

/// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014): the finaliser
/// alone, over a counter.
__host__ __device__ inline std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

inline constexpr std::uint32_t kDraws = std::uint32_t{1} << 24;  // different radii, and angles

/// What a pair of numbers is made of: both below kDraws.
struct Drawn {
    std::uint32_t radius, angle;
};
__host__ __device__ inline Drawn drawn(std::uint64_t seed, std::uint64_t counter) {
    const std::uint64_t bits = mix(seed ^ mix(counter));
    return {static_cast<std::uint32_t>(bits >> 40), static_cast<std::uint32_t>(bits & (kDraws - 1))};
}

// Box and Muller, 1958: radius·cosine and radius·sine are two normal deviates. A device takes these functions
// from tables that the host has made (DeviceInputs), for its own logarithm may end with another bit.
inline float radius_of(std::uint32_t radius) {
    const float u = (static_cast<float>(radius) + 1.0f) * 0x1p-24f;  // (0, 1]: its logarithm exists
    return std::sqrt(-2.0f * std::log(u));
}
inline std::pair<float, float> turn_of(std::uint32_t angle) {  // cosine and sine
    const float turn = 2.0f * std::numbers::pi_v<float> * (static_cast<float>(angle) * 0x1p-24f);
    return {std::cos(turn), std::sin(turn)};
}

/// Two normal deviates from a counter.
inline std::pair<float, float> normal_pair(std::uint64_t seed, std::uint64_t counter) {
    const Drawn d = drawn(seed, counter);
    const float radius = radius_of(d.radius);
    const auto [cosine, sine] = turn_of(d.angle);
    return {radius * cosine, radius * sine};
}

/// Element i of a matrix, padding counted, whose numbers are drawn from `seed`.
inline float normal_at(std::uint64_t seed, std::int64_t i) {
    const auto [even, odd] = normal_pair(seed, static_cast<std::uint64_t>(i / 2));
    return i % 2 == 0 ? even : odd;
}

}  // namespace gemm
