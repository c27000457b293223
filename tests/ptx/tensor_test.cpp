// 16-bit types, ldmatrix, mma and wmma against models written here, on a GPU and on the CPU device alike; and
// the swizzle.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/parts/swizzle.hpp"
#include "common/ptx/fragments.hpp"
#include "tests/cpu/execution/kernels.hpp"
#include "tests/device_array.hpp"
#include "tests/support.hpp"

namespace {

using kernels::LdMatrix;
using kernels::Narrow;
using test::DeviceArray;
using Bits = std::vector<std::uint16_t>;

constexpr Narrow kTypes[] = {Narrow::half, Narrow::bfloat16};

struct Format {
    int fraction, least;  // bits; exponent of the smallest normal number
};
Format format(Narrow type) {
    return type == Narrow::half ? Format{10, -14} : Format{7, -126};
}

/// The value of a bit pattern, by the definition of IEEE 754's binary formats.
double decoded(Narrow type, std::uint16_t bits) {
    const auto [fraction, least] = format(type);
    const int field = (bits & 0x7fff) >> fraction, significand = bits & ((1 << fraction) - 1);
    const double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (field == (0x7fff >> fraction)) {
        return significand != 0 ? std::numeric_limits<double>::quiet_NaN()
                                : sign * std::numeric_limits<double>::infinity();
    }
    return field == 0 ? sign * std::ldexp(significand, least - fraction)
                      : sign * std::ldexp(significand + (1 << fraction), field - 1 + least - fraction);
}

/// The nearest of the type's values, found by looking at both neighbors; of two as near, the even one.
std::uint16_t encoded(Narrow type, float value) {
    if (std::isnan(value)) return 0x7fff;
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::abs(static_cast<double>(value));
    const std::uint16_t infinity =
        static_cast<std::uint16_t>(0x7fff >> format(type).fraction << format(type).fraction);
    // Beyond the largest finite value by half a step or more is infinite (IEEE 754, 4.3.1): as if the next
    // one were there.
    const auto at = [&](std::uint16_t bits) {
        return bits < infinity ? decoded(type, bits)
                               : 2 * decoded(type, infinity - 1) - decoded(type, infinity - 2);
    };
    std::uint16_t low = 0, high = infinity;  // at(low) <= magnitude, unless it is beyond all
    if (magnitude >= at(high)) return sign | infinity;
    while (high - low > 1) {
        const auto middle = static_cast<std::uint16_t>((low + high) / 2);
        (at(middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - at(low), above = at(high) - magnitude;
    return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

bool same_value(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// Every pattern's neighborhood: each value of the type, the points halfway between, and what is next to
/// them; then floats of all kinds.
std::vector<float> interesting(Narrow type) {
    std::vector<float> values;
    for (int bits = 0; bits < 0x10000; ++bits) {
        const double here = decoded(type, static_cast<std::uint16_t>(bits));
        const double next = decoded(type, static_cast<std::uint16_t>(bits + 1));
        values.push_back(static_cast<float>(here));
        if (!std::isfinite(here) || !std::isfinite(next)) continue;
        const auto halfway = static_cast<float>((here + next) / 2);
        for (const float direction : {-INFINITY, INFINITY})
            values.push_back(std::nextafter(halfway, direction));
        values.push_back(halfway);
    }
    for (const double top : {65504.0, 65519.999, 65520.0, 65536.0, 3.3895e38, 3.39615e38, 3.4e38}) {
        for (const double sign : {-1.0, 1.0}) values.push_back(static_cast<float>(sign * top));
    }
    std::mt19937 random(static_cast<unsigned>(test::seed()));
    for (int i = 0; i < 50000; ++i) {
        const auto bits = static_cast<std::uint32_t>(random());
        float value;
        std::memcpy(&value, &bits, sizeof value);
        values.push_back(value);
    }
    return values;
}

/// Values of the type around 1, or small integers.
Bits random_bits(Narrow type, std::size_t count, bool integers, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<int> small(-8, 8);
    Bits bits(count);
    for (auto& b : bits) b = encoded(type, integers ? static_cast<float>(small(random)) : normal(random));
    return bits;
}

/// The sum, and what its error is measured by: the sum of the magnitudes.
struct Sum {
    double value = 0, magnitude = 0;
    void add(double x) {
        value += x;
        magnitude += std::abs(x);
    }
};

/// `steps`: mma instructions one after the other. On the CPU device each rounds once, to nearest. Tensor
/// cores truncate addends that they have shifted to the largest exponent: 17 times at most 2⁻²³ of the
/// largest, and the result.
bool close(float got, const Sum& expected, int steps, bool exact) {
    if (exact) return static_cast<double>(got) == expected.value;
#ifdef GEMM_CPU_DEVICE
    const double unit = 0x1p-24;
#else
    const double unit = 18 * 0x1p-23;
#endif
    return std::abs(static_cast<double>(got) - expected.value) <= steps * unit * expected.magnitude;
}

}  // namespace

// ---- types ----

TEST_CASE("tensor: all bit patterns have their values") {
    test::device();
    for (const Narrow type : kTypes) {
        const DeviceArray<float> out(0x10000);
        kernels::decode(type, 0x10000, out.data());
        const std::vector<float> got = out.host();
        for (unsigned bits = 0; bits < 0x10000; ++bits) {
            const double expected = decoded(type, static_cast<std::uint16_t>(bits));
            INFO("type " << static_cast<int>(type) << ", bits " << bits << ": " << got[bits] << ", not "
                         << expected);
            if (!same_value(static_cast<double>(got[bits]), expected)) FAIL();
        }
    }
}

TEST_CASE("tensor: atomic additions of 16 bits") {
    test::device();
    for (const Narrow type : kTypes) {
        const DeviceArray<std::uint16_t> out(4);
        kernels::add_narrow(type, out.data());
        const bool half = type == Narrow::half;
        CHECK(out.host() == (half ? std::vector<std::uint16_t>{0x5400, 0, 0x5400, 0x5000}  // 64, 64 and 32
                                  : std::vector<std::uint16_t>{0x4280, 0, 0x4280, 0x4200}));
    }
}

TEST_CASE("tensor: floats are rounded to the nearest value, ties to even") {
    test::device();
    for (const Narrow type : kTypes) {
        std::vector<float> values = interesting(type);
        if (values.size() % 2 != 0) values.pop_back();
        const auto n = static_cast<int>(values.size());
        const DeviceArray<float> in(values);
        const DeviceArray<std::uint16_t> out(values.size()), pairs(values.size());
        kernels::encode(type, n, in.data(), out.data());
        kernels::encode_pairs(type, n / 2, in.data(), pairs.data());
        const Bits got = out.host(), got_pairs = pairs.host();
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::uint16_t expected = encoded(type, values[i]);
            INFO("type " << static_cast<int>(type) << ", " << values[i] << ": " << got[i] << " and "
                         << got_pairs[i] << ", not " << expected);
            if (got[i] != expected || got_pairs[i] != expected) FAIL();
        }
    }
}

TEST_CASE("tensor: the types on the host") {
    // Known values: IEEE 754's binary16, and the upper half of binary32.
    CHECK(__half_as_ushort(__float2half(1.0f)) == 0x3c00);
    CHECK(__half_as_ushort(__float2half_rn(-2.5f)) == 0xc100);
    CHECK(__half_as_ushort(__half(65504.0f)) == 0x7bff);
    CHECK(__half_as_ushort(__half(65520.0)) == 0x7c00);
    CHECK(__half_as_ushort(__half(0x1p-24)) == 1);
    CHECK(__half_as_ushort(__half(0x1p-25)) == 0);
    CHECK(__half2float(__ushort_as_half(0x0001)) == 0x1p-24f);
    CHECK(__bfloat16_as_ushort(__float2bfloat16(1.0f)) == 0x3f80);
    CHECK(__bfloat16_as_ushort(__float2bfloat16_rn(-3.140625f)) == 0xc049);
    CHECK(__bfloat16_as_ushort(__nv_bfloat16(3)) == 0x4040);
    CHECK(__bfloat162float(__ushort_as_bfloat16(0x0001)) == 0x1p-133f);
    // Rounded once: by way of a float, 1 + 2⁻⁸ + 2⁻⁴⁰ would become a tie, and 1.
    CHECK(__bfloat16_as_ushort(__nv_bfloat16(1 + 0x1p-8 + 0x1p-40)) == 0x3f81);
    CHECK(__bfloat16_as_ushort(__nv_bfloat16((1ll << 40) + (1ll << 32) + 1)) == 0x5381);
    CHECK(__bfloat16_as_ushort(__nv_bfloat16(-(1ll << 62) - (1ll << 54) - 1)) == 0xde81);

    const __nv_bfloat16 third = 1.0f / 3.0f;
    const float as_float = third;
    CHECK(as_float == 0.333984375f);
    CHECK(__bfloat16_as_ushort(third * third) == encoded(Narrow::bfloat16, as_float * as_float));
    CHECK(__bfloat16_as_ushort(third - __nv_bfloat16(1.0f)) == encoded(Narrow::bfloat16, as_float - 1.0f));
    CHECK(-third < third);
    const __nv_bfloat162 pair = __floats2bfloat162_rn(1.0f, 2.0f);
    CHECK(__low2float(pair) == 1.0f);
    CHECK(__high2float(pair) == 2.0f);
    CHECK(static_cast<float>(pair.y) == 2.0f);
    std::uint32_t bits;
    std::memcpy(&bits, &pair, sizeof pair);
    CHECK(bits == 0x40003f80u);
    const __half2 halves = __floats2half2_rn(0.5f, -1.0f);
    CHECK(__half22float2(halves).x == 0.5f);
    CHECK(__half22float2(halves).y == -1.0f);
}

// ---- layouts ----

TEST_CASE("tensor: fragments lie as the PTX ISA says") {
    // Written as they stand there: for element i of a fragment, with groupID and threadID_in_group.
    for (int lane = 0; lane < 32; ++lane) {
        const int group = lane >> 2, in_group = lane % 4;
        for (int i = 0; i < 8; ++i) {
            const auto p = gemm::ptx::fragment_a(lane, i / 2, i % 2);
            CHECK(p.row == ((0 <= i && i < 2) || (4 <= i && i < 6) ? group : group + 8));
            CHECK(p.col == (i < 4 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8));
        }
        for (int i = 0; i < 4; ++i) {
            const auto b = gemm::ptx::fragment_b(lane, i / 2, i % 2);
            CHECK(b.row == (i < 2 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8));
            CHECK(b.col == group);
            const auto c = gemm::ptx::fragment_c(lane, i);
            CHECK(c.row == (i < 2 ? group : group + 8));
            CHECK(c.col == in_group * 2 + (i & 1));
        }
    }
}

TEST_CASE("tensor: ldmatrix_row() gives the fragments of row-major tiles") {
    // Matrix i of .x4 has its corner where lane 8·i points, and becomes register i.
    for (int lane = 0; lane < 32; ++lane) {
        for (int r = 0; r < 4; ++r) {
            const auto corner = gemm::ptx::ldmatrix_row(8 * r);
            for (int row = 0; row < 8; ++row) {
                const auto at = gemm::ptx::ldmatrix_row(8 * r + row);
                CHECK(at.row == corner.row + row);
                CHECK(at.col == corner.col);
            }
            for (int half = 0; half < 2; ++half) {
                const auto a = gemm::ptx::fragment_a(lane, r, half),
                           e = gemm::ptx::ldmatrix_element(lane, half);
                CHECK(a.row == corner.row + e.row);
                CHECK(a.col == corner.col + e.col);
                const auto b = gemm::ptx::fragment_b(lane, r % 2, half),
                           t = gemm::ptx::ldmatrix_trans_element(lane, half);
                CHECK(b.row == corner.row + t.row);
                CHECK(b.col + r / 2 * 8 == corner.col + t.col);
            }
        }
    }
}

TEST_CASE("tensor: the swizzle is a permutation and its own inverse") {
    const auto check = [](auto swizzle, int period, int unit, int row) {
        std::set<int> places;
        for (int i = 0; i < 2 * period; ++i) {
            const int place = swizzle.apply(i);
            places.insert(place);
            REQUIRE(swizzle.apply(place) == i);
            REQUIRE(place / row == i / row);    // stays in its row
            REQUIRE(place % unit == i % unit);  // units stay whole
        }
        CHECK(places.size() == static_cast<std::size_t>(2 * period));
        CHECK(*places.rbegin() == 2 * period - 1);
    };
    check(gemm::Swizzle<3, 4, 3>{}, 1024, 16, 128);
    check(gemm::Swizzle<3, 3, 3>{}, 512, 8, 64);
    check(gemm::Swizzle<2, 3, 3>{}, 256, 8, 64);
    check(gemm::Swizzle<1, 2, 5>{}, 256, 4, 128);
    check(gemm::Swizzle<0, 4, 3>{}, 128, 16, 16);
    static_assert(gemm::Swizzle<3, 4, 3>::apply(0) == 0);
    static_assert(gemm::Swizzle<3, 4, 3>::apply(128) == 128 + 16);
    static_assert(gemm::Swizzle<3, 4, 3>::apply(5 * 128 + 3 * 16 + 2) == 5 * 128 + 6 * 16 + 2);
    // Column 0 of 8 rows of 128 bytes: 8 units of 4 banks each.
    std::set<int> units;
    for (int row = 0; row < 8; ++row) units.insert(gemm::Swizzle<3, 4, 3>::apply(128 * row) % 128 / 16);
    CHECK(units.size() == 8);
}

// ---- ldmatrix ----

TEST_CASE("tensor: ldmatrix in all its forms") {
    test::device();
    std::mt19937 random(static_cast<unsigned>(test::seed()));
    Bits tile(32 * 8);
    for (auto& element : tile) element = static_cast<std::uint16_t>(random());
    std::vector<int> order(32);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::shuffle(order.begin(), order.end(), random);
    const DeviceArray<std::uint16_t> in(tile);
    for (const auto& [kind, count, trans] :
         {std::tuple{LdMatrix::x1, 1, false}, std::tuple{LdMatrix::x2, 2, false},
          std::tuple{LdMatrix::x4, 4, false}, std::tuple{LdMatrix::x1_trans, 1, true},
          std::tuple{LdMatrix::x2_trans, 2, true}, std::tuple{LdMatrix::x4_trans, 4, true},
          std::tuple{LdMatrix::x4_trans_pairs, 4, true}}) {
        std::vector<int> rows = order;
        std::fill(rows.begin() + 8 * count, rows.end(), -1);
        const DeviceArray<int> row(rows);
        const DeviceArray<std::uint32_t> out(4 * 32);
        kernels::ldmatrix(kind, in.data(), row.data(), out.data());
        const std::vector<std::uint32_t> got = out.host();
        for (int lane = 0; lane < 32; ++lane) {
            for (int r = 0; r < 4; ++r) {
                std::uint32_t expected = 0;
                for (int half = 0; half < 2 && r < count; ++half) {
                    // PTX ISA, "ldmatrix": thread T holds elements 2·(T mod 4) and the next of row T / 4, of
                    // the transposed matrix where .trans is given.
                    const int i = lane / 4, j = 2 * (lane % 4) + half;
                    const auto source =
                        static_cast<std::size_t>(order[static_cast<std::size_t>(8 * r + (trans ? j : i))]);
                    const std::uint32_t element = tile[8 * source + static_cast<std::size_t>(trans ? i : j)];
                    expected |= element << (16 * half);
                }
                INFO("kind " << static_cast<int>(kind) << ", lane " << lane << ", register " << r);
                REQUIRE(got[static_cast<std::size_t>(4 * lane + r)] == expected);
            }
        }
    }
}

// ---- mma and wmma ----

TEST_CASE("tensor: mma") {
    test::device();
    for (const Narrow type : kTypes) {
        for (const bool integers : {true, false}) {
            const Bits a = random_bits(type, 16 * 16, integers, test::seed()),
                       b = random_bits(type, 16 * 8, integers, test::seed() + 1);
            std::vector<float> c(16 * 8);
            for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<float>(i) - 60.0f;
            const DeviceArray<std::uint16_t> A(a), B(b);
            const DeviceArray<float> C(c);
            kernels::mma(type, A.data(), B.data(), C.data());
            const std::vector<float> got = C.host();
            for (std::size_t i = 0; i < 16; ++i) {
                for (std::size_t j = 0; j < 8; ++j) {
                    Sum sum;
                    sum.add(static_cast<double>(c[8 * i + j]));
                    for (std::size_t k = 0; k < 16; ++k)
                        sum.add(decoded(type, a[16 * i + k]) * decoded(type, b[8 * k + j]));
                    INFO("type " << static_cast<int>(type) << " (" << i << ", " << j << "): "
                                 << got[8 * i + j] << ", not " << sum.value << ", seed " << test::seed());
                    REQUIRE(close(got[8 * i + j], sum, 1, integers));
                }
            }
        }
    }
}

TEST_CASE("tensor: mma passes on what is not finite") {
    test::device();
    for (const Narrow type : kTypes) {
        Bits a(16 * 16, encoded(type, 1.0f)), b(16 * 8, encoded(type, 1.0f));
        a[16 * 3 + 5] = encoded(type, std::numeric_limits<float>::infinity());
        a[16 * 4] = 0x7fff;
        std::fill_n(a.begin() + 16 * 5, 16, std::uint16_t{0});
        a[16 * 5] = encoded(type, 0x1p-14f);  // with it in B: a product that binary16 cannot hold
        std::fill_n(b.begin(), 8, encoded(type, 0x1p-14f));
        std::vector<float> c(16 * 8, -15.0f);
        std::fill_n(c.begin() + 8 * 5, 8, 0.0f);
        const DeviceArray<std::uint16_t> A(a), B(b);
        const DeviceArray<float> C(c);
        kernels::mma(type, A.data(), B.data(), C.data());
        const std::vector<float> got = C.host();
        for (std::size_t j = 0; j < 8; ++j) {
            CHECK(got[j] == 0x1p-14f);
            CHECK(got[8 * 3 + j] == std::numeric_limits<float>::infinity());
            CHECK(std::isnan(got[8 * 4 + j]));
            CHECK(got[8 * 5 + j] == 0x1p-28f);
        }
    }
}

TEST_CASE("tensor: a tile by cp.async, swizzle, ldmatrix and mma") {
    test::device();
    for (const Narrow type : kTypes) {
        for (const bool integers : {true, false}) {
            const Bits a = random_bits(type, 16 * 64, integers, test::seed()),
                       b = random_bits(type, 64 * 64, integers, test::seed() + 1);
            const DeviceArray<std::uint16_t> A(a), B(b);
            const DeviceArray<float> C(16 * 64);
            kernels::warp_tile(type, A.data(), B.data(), C.data());
            const std::vector<float> got = C.host();
            for (std::size_t i = 0; i < 16; ++i) {
                for (std::size_t j = 0; j < 64; ++j) {
                    Sum sum;
                    for (std::size_t k = 0; k < 64; ++k)
                        sum.add(decoded(type, a[64 * i + k]) * decoded(type, b[64 * k + j]));
                    INFO("type " << static_cast<int>(type) << " (" << i << ", " << j << "): "
                                 << got[64 * i + j] << ", not " << sum.value << ", seed " << test::seed());
                    REQUIRE(close(got[64 * i + j], sum, 4, integers));
                }
            }
        }
    }
}

TEST_CASE("tensor: wmma in all layouts") {
    test::device();
    for (const Narrow type : kTypes) {
        for (int variant = 0; variant < 32; ++variant) {
            const bool shared = variant & 1, a_col = variant & 2, b_col = variant & 4, c_col = variant & 8,
                       integers = variant & 16;
            const Bits a = random_bits(type, 16 * 24, integers, test::seed()),
                       b = random_bits(type, 16 * 32, integers, test::seed() + 1);
            std::vector<float> c(16 * 20);
            for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<float>(i % 31);
            const DeviceArray<std::uint16_t> A(a), B(b);
            const DeviceArray<float> C(c);
            kernels::wmma(type, shared, a_col, b_col, c_col, A.data(), B.data(), C.data());
            const std::vector<float> got = C.host();
            const auto place = [](bool col_major, std::size_t row, std::size_t col, std::size_t pitch) {
                return col_major ? col * pitch + row : row * pitch + col;
            };
            std::set<std::size_t> written;
            for (std::size_t i = 0; i < 16; ++i) {
                for (std::size_t j = 0; j < 16; ++j) {
                    const std::size_t here = place(c_col, i, j, 20);
                    written.insert(here);
                    Sum sum;
                    sum.add(static_cast<double>(c[here]));
                    for (std::size_t k = 0; k < 16; ++k) {
                        sum.add(2 * decoded(type, a[place(a_col, i, k, 24)]) *
                                decoded(type, b[place(b_col, k, j, 32)]));
                    }
                    INFO("type " << static_cast<int>(type) << ", variant " << variant << " (" << i << ", "
                                 << j << "): " << got[here] << ", not " << sum.value << ", seed "
                                 << test::seed());
                    REQUIRE(close(got[here], sum, 2, integers));
                }
            }
            for (std::size_t i = 0; i < c.size(); ++i) {
                if (written.count(i) == 0) CHECK(got[i] == c[i]);
            }
        }
    }
}
