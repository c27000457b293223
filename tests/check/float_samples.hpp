// Numbers to be converted, and a digest of what becomes of them: for codec_test.cpp, and for the program that
// asks NVIDIA's headers, which are not to meet the CPU device's in one program.
#pragma once

#include <bit>
#include <cstdint>

namespace test {

/// Calls body(x) for FP32 numbers, infinities and NaNs: every upper half, with lower halves that lie at and
/// beside the middle between two numbers of BF16, FP16 and TF32. Of narrower types, that is at the end of an
/// upper half.
template <class Body>
void each_float(const Body& body) {
    for (std::uint32_t upper = 0; upper <= 0xffffu; ++upper) {
        for (const std::uint32_t lower :
             {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
            body(std::bit_cast<float>(upper << 16 | lower));
        }
    }
}

/// FNV-1a of 64 bits, over words.
struct Digest {
    std::uint64_t value = 0xcbf29ce484222325u;
    void add(std::uint32_t word) { value = (value ^ word) * 0x100000001b3u; }
};

/// What encode() makes of them all but NaNs, as floats, and as doubles right below and above.
template <class Encode>
std::uint64_t digest_of_floats(const Encode& encode) {
    Digest digest;
    each_float([&](float x) {
        if (x != x) return;
        digest.add(encode(x));
        digest.add(encode(static_cast<double>(x) * (1.0 - 0x1p-40)));
        digest.add(encode(static_cast<double>(x) * (1.0 + 0x1p-40)));
    });
    return digest.value;
}

/// The values of all patterns of so many bits, as FP32; all NaNs count as one.
template <class Decode>
std::uint64_t digest_of_values(int bits, const Decode& decode) {
    Digest digest;
    for (std::uint32_t pattern = 0; pattern >> bits == 0; ++pattern) {
        const float x = decode(pattern);
        digest.add(x != x ? 0x7fffffffu : std::bit_cast<std::uint32_t>(x));
    }
    return digest.value;
}

}  // namespace test
