// The codec of every element type: against its definition, and against what NVIDIA's headers make of the
// same numbers. What the verifier makes of types is dtype_test.cpp's.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/check/buffer.hpp"
#include "common/check/dtype.hpp"
#include "tests/check/float_samples.hpp"
#include "tests/process.hpp"
#include "tests/support.hpp"

namespace {

using gemm::DType;
using test::kInf;
using test::kNaN;
using Json = nlohmann::json;

constexpr std::array kSaturating{DType::e4m3, DType::e5m2, DType::int8, DType::int32,
                                 DType::int4, DType::e2m1, DType::e8m0};

std::uint64_t word(double x) {
    return std::bit_cast<std::uint64_t>(x);
}

double below(double x) {
    return std::nextafter(x, -static_cast<double>(kInf));
}
double above(double x) {
    return std::nextafter(x, static_cast<double>(kInf));
}

/// The finite numbers of a type from 0 on (of E8M0 all), and their bits, in ascending order. Of INT32 and
/// FP32, those whose bits begin or end with zeros or ones.
std::vector<std::pair<double, std::uint32_t>> numbers(DType dtype) {
    const gemm::DTypeInfo& i = gemm::info(dtype);
    const int width = i.bits - (dtype == DType::e8m0 ? 0 : 1), step = dtype == DType::tf32 ? 1 << 13 : 1;
    std::vector<std::pair<double, std::uint32_t>> found;
    for (std::uint64_t p = 0; p < std::uint64_t{1} << width; p += static_cast<std::uint64_t>(step)) {
        const bool sample = dtype == DType::fp32 || dtype == DType::int32;
        if (sample && (p & 0xffffu) == 4) p += 0xfff8u;
        const auto pattern = static_cast<std::uint32_t>(p);
        const double value = gemm::exact_value(dtype, pattern);
        if (std::isfinite(value)) found.emplace_back(value, pattern);
    }
    return found;
}

/// Counts what is wrong, and keeps the first: a REQUIRE for each of millions of numbers takes minutes.
struct Tally {
    std::size_t wrong = 0;
    std::string first;
    void check(bool right, DType dtype, double x, std::uint32_t got, std::uint32_t expected) {
        if (right || wrong++ > 0) return;
        first = std::string(gemm::dtype_name(dtype)) + ": " + std::to_string(x) + ", bits of the double " +
                std::to_string(word(x)) + ": " + std::to_string(got) + ", not " + std::to_string(expected);
    }
    void encodes(DType dtype, double x, std::uint32_t expected) {
        const std::uint32_t got = gemm::encode(dtype, x);
        check(got == expected, dtype, x, got, expected);
        const auto single = static_cast<float>(x);
        if (static_cast<double>(single) != x) return;
        const std::uint32_t of_float = gemm::encode(dtype, single);
        check(of_float == expected, dtype, x, of_float, expected);
    }
    void require_none() const {
        INFO(first);
        REQUIRE(wrong == 0);
    }
};

const Json& recorded() {
    static const Json json = [] {
        std::ifstream file(GEMM_SOURCE_DIR "/tests/recorded/nvidia_types.json");
        return Json::parse(file);
    }();
    return json.at("types");
}

DType type_of_name(const std::string& name) {
    return gemm::dtype_named(name).value();
}

}  // namespace

TEST_CASE("codec: every type has a name and its bits") {
    std::set<std::string> names, texts;
    std::size_t index = 0;
    for (const DType dtype : gemm::all_dtypes()) {
        CHECK(static_cast<std::size_t>(dtype) == index++);
        const gemm::DTypeInfo& i = gemm::info(dtype);
        CHECK(gemm::dtype_named(i.name) == dtype);
        CHECK(names.insert(i.name).second);
        CHECK(texts.insert(i.text).second);
        CHECK(gemm::bytes_of(dtype, 16) == static_cast<std::size_t>(2 * i.bits));
        if (i.bits == 4) {
            CHECK_FALSE(test::error_of([&] { (void)gemm::size_of(dtype); }).empty());
        } else {
            CHECK(gemm::size_of(dtype) == gemm::bytes_of(dtype, 1));
        }
    }
    CHECK(index == 11);
    for (const char* const name : {"fp32", "tf32", "int32"}) CHECK(gemm::info(type_of_name(name)).bits == 32);
    for (const char* const name : {"bf16", "fp16"}) CHECK(gemm::info(type_of_name(name)).bits == 16);
    for (const char* const name : {"e4m3", "e5m2", "e8m0", "int8"})
        CHECK(gemm::info(type_of_name(name)).bits == 8);
    for (const char* const name : {"int4", "e2m1"}) CHECK(gemm::info(type_of_name(name)).bits == 4);
    CHECK(gemm::bytes_of(DType::int4, 0) == 0);
    CHECK(gemm::bytes_of(DType::e2m1, 7) == 4);
}

TEST_CASE("codec: ranges and accuracies") {
    struct Row {
        DType dtype;
        double largest, overflow, unit_roundoff, half_smallest, inputs;
    };
    const double fp32_max = static_cast<double>(std::numeric_limits<float>::max());
    for (const Row& r : {Row{DType::fp32, fp32_max, 0x1.ffffffp127, 0x1p-24, 0x1p-150, 6},
                         {DType::tf32, 0x1.ffcp127, 0x1.ffep127, 0x1p-11, 0x1p-137, 6},
                         {DType::bf16, 0x1.fep127, 0x1.ffp127, 0x1p-8, 0x1p-134, 6},
                         {DType::fp16, 65504, 65520, 0x1p-11, 0x1p-25, 6},
                         {DType::e4m3, 448, 464, 0x1p-4, 0x1p-10, 6},
                         {DType::e5m2, 57344, 61440, 0x1p-3, 0x1p-17, 6},
                         {DType::e2m1, 6, 7, 0x1p-2, 0.25, 6},
                         {DType::int4, 7, 7.5, 0, 0.5, 7},
                         {DType::int8, 127, 127.5, 0, 0.5, 127},
                         {DType::int32, 2147483647, 2147483647.5, 0, 0.5, 16777216},
                         {DType::e8m0, 0x1p127, 0x1p127, 1, 0x1p-127, 8}}) {
        INFO(gemm::dtype_name(r.dtype));
        CHECK(gemm::largest(r.dtype) == r.largest);
        CHECK(gemm::overflow_threshold(r.dtype) == r.overflow);
        CHECK(gemm::unit_roundoff(r.dtype) == r.unit_roundoff);
        CHECK(gemm::half_smallest(r.dtype) == r.half_smallest);
        const gemm::Range range = gemm::inputs(r.dtype);
        CHECK(range.highest == r.inputs);
        CHECK(range.lowest == (r.dtype == DType::e8m0 ? 0.125 : -r.inputs));
        for (const double end : {range.lowest, range.highest}) {
            CHECK(gemm::exact_value(r.dtype, gemm::encode(r.dtype, end)) == end);
            CHECK(static_cast<double>(gemm::rounded_to(r.dtype, static_cast<float>(end))) == end);
        }
    }
}

TEST_CASE("codec: every pattern of 4, 8 and 16 bits encodes to itself") {
    for (const DType dtype : gemm::all_dtypes()) {
        const gemm::DTypeInfo& i = gemm::info(dtype);
        if (i.bits > 16) continue;
        Tally tally;
        std::size_t nans = 0;
        for (std::uint32_t pattern = 0; pattern >> i.bits == 0; ++pattern) {
            const double value = gemm::exact_value(dtype, pattern);
            const float single = gemm::decode(dtype, pattern);
            if (std::isnan(value)) {
                ++nans;
                tally.check(std::isnan(single), dtype, value, pattern, 0);
                continue;
            }
            tally.check(word(static_cast<double>(single)) == word(value), dtype, value, pattern, 0);
            const bool cut = std::isinf(value) && i.saturates;
            tally.encodes(dtype, value, cut ? pattern - 1 : pattern);
        }
        tally.require_none();
        const std::size_t per_sign = i.beyond == gemm::Beyond::infinity
                                         ? (std::size_t{1} << (i.precision - 1)) - 1
                                     : i.beyond == gemm::Beyond::nan ? 1
                                                                     : 0;
        CHECK(nans == per_sign * (dtype == DType::e8m0 ? 1 : 2));
    }
}

TEST_CASE("codec: encoding rounds to nearest, ties to even, with the error that is stated") {
    for (const DType dtype : gemm::all_dtypes()) {
        if (dtype == DType::e8m0) continue;
        const std::uint32_t sign = gemm::is_integer(dtype) ? 0 : 1u << (gemm::info(dtype).bits - 1);
        const double u = gemm::unit_roundoff(dtype), half = gemm::half_smallest(dtype);
        const auto all = numbers(dtype);
        REQUIRE(all.front().first == 0.0);
        REQUIRE(all.back().first == gemm::largest(dtype));
        Tally tally;
        const std::uint32_t unit = dtype == DType::tf32 ? 1u << 13 : 1u;
        for (std::size_t i = 0; i + 1 < all.size(); ++i) {
            const auto [low, low_bits] = all[i];
            const auto [high, high_bits] = all[i + 1];
            if (high_bits - low_bits != unit) continue;  // of a sample
            const double middle = (low + high) / 2;
            const std::uint32_t even = (low_bits / unit & 1u) == 0 ? low_bits : high_bits;
            tally.encodes(dtype, middle, even);
            tally.encodes(dtype, below(middle), low_bits);
            tally.encodes(dtype, above(middle), high_bits);
            tally.encodes(dtype, high, high_bits);
            tally.check(middle - low <= std::max(u * middle, half), dtype, middle, low_bits, high_bits);
            if (sign != 0) {
                tally.encodes(dtype, -middle, even | sign);
                tally.encodes(dtype, -below(middle), low_bits | sign);
                tally.encodes(dtype, -above(middle), high_bits | sign);
            } else {
                const auto two = [&](std::uint32_t bits) {
                    return gemm::encode(dtype, -gemm::exact_value(dtype, bits));
                };
                tally.encodes(dtype, -middle, two(even));
                tally.encodes(dtype, -below(middle), two(low_bits));
                tally.encodes(dtype, -above(middle), two(high_bits));
            }
        }
        tally.require_none();
    }
    // A scale goes up.
    Tally tally;
    const auto scales = numbers(DType::e8m0);
    REQUIRE(scales.size() == 255);
    for (std::size_t i = 0; i + 1 < scales.size(); ++i) {
        const auto [low, bits] = scales[i];
        REQUIRE(low == std::ldexp(1.0, static_cast<int>(i) - 127));
        tally.encodes(DType::e8m0, low, bits);
        tally.encodes(DType::e8m0, above(low), bits + 1);
        tally.encodes(DType::e8m0, 2 * low, bits + 1);
        tally.encodes(DType::e8m0, -1.5 * low, bits + 1);
    }
    tally.require_none();
}

TEST_CASE("codec: values beyond the largest number become infinity or saturate") {
    for (const DType dtype : gemm::all_dtypes()) {
        INFO(gemm::dtype_name(dtype));
        const bool saturates = std::find(kSaturating.begin(), kSaturating.end(), dtype) != kSaturating.end();
        CHECK(gemm::info(dtype).saturates == saturates);
        const double most = gemm::largest(dtype), threshold = gemm::overflow_threshold(dtype);
        const double lowest = gemm::is_integer(dtype) ? -most - 1 : dtype == DType::e8m0 ? most : -most;
        CHECK(gemm::exact_value(dtype, gemm::encode(dtype, below(threshold))) == most);
        for (const double x : {threshold, 2 * threshold, 1e300, static_cast<double>(kInf)}) {
            const double up = gemm::exact_value(dtype, gemm::encode(dtype, x));
            const double down = gemm::exact_value(dtype, gemm::encode(dtype, -x - 1));
            CHECK(up == (saturates ? most : static_cast<double>(kInf)));
            CHECK(down == (saturates ? lowest : -static_cast<double>(kInf)));
        }
        for (const float x : {std::numeric_limits<float>::max(), kInf, -kInf}) {
            if (dtype != DType::fp32) {
                CHECK(gemm::encode(dtype, x) == gemm::encode(dtype, static_cast<double>(x)));
            }
        }
    }
}

TEST_CASE("codec: zeros, subnormal numbers and NaN") {
    for (const DType dtype : gemm::all_dtypes()) {
        INFO(gemm::dtype_name(dtype));
        const std::uint32_t zero = gemm::encode(dtype, 0.0), minus = gemm::encode(dtype, -0.0);
        CHECK(zero == 0);
        const bool one_zero = gemm::is_integer(dtype) || dtype == DType::e8m0;
        CHECK(minus == (one_zero ? 0 : 1u << (gemm::info(dtype).bits - 1)));
        CHECK(gemm::encode(dtype, -0.0f) == minus);
        CHECK(std::signbit(gemm::exact_value(dtype, minus)) == !one_zero);
        // Half the smallest number is a tie, which goes to 0.
        if (dtype != DType::e8m0) {
            const double half = gemm::half_smallest(dtype);
            CHECK(gemm::encode(dtype, half) == 0);
            CHECK(gemm::encode(dtype, -half) == minus);
            CHECK(gemm::exact_value(dtype, gemm::encode(dtype, above(half))) == 2 * half);
            CHECK(gemm::encode(dtype, std::numeric_limits<double>::denorm_min()) == 0);
        }
        const auto nan = static_cast<double>(kNaN);
        for (const std::uint32_t bits :
             {gemm::encode(dtype, nan), gemm::encode(dtype, -nan), gemm::encode(dtype, kNaN),
              gemm::encode(dtype, std::bit_cast<float>(0x7f800001u))}) {
            if (gemm::info(dtype).beyond == gemm::Beyond::nothing) {
                CHECK(gemm::exact_value(dtype, bits) == (dtype == DType::e2m1 ? 6.0 : 0.0));
            } else {
                CHECK(std::isnan(gemm::exact_value(dtype, bits)));
                CHECK(std::isnan(gemm::decode(dtype, bits)));
            }
        }
    }
    CHECK(gemm::encode(DType::e4m3, -kNaN) == 0x7f);
    CHECK(gemm::encode(DType::e5m2, -kNaN) == 0x7f);
    CHECK(gemm::encode(DType::e8m0, -kNaN) == 0xff);
    CHECK(gemm::encode(DType::e8m0, 0.0f) == 0);  // 2^−127
    CHECK(gemm::exact_value(DType::e8m0, 0) == 0x1p-127);
}

TEST_CASE("codec: TF32 is the upper 19 bits of an FP32") {
    Tally tally;
    test::each_float([&](float x) {
        if (std::isnan(x)) return;
        const auto whole = std::bit_cast<std::uint32_t>(x);
        const std::uint32_t rounded = (whole + 0xfffu + (whole >> 13 & 1u)) & ~0x1fffu;
        tally.encodes(DType::tf32, static_cast<double>(x), rounded);
        const float cut = std::bit_cast<float>(whole & ~0x1fffu);
        tally.check(gemm::decode(DType::tf32, whole) == cut, DType::tf32, static_cast<double>(x), whole, 0);
    });
    tally.require_none();
}

TEST_CASE("codec: integers are exact") {
    Tally tally;
    for (const DType dtype : {DType::int4, DType::int8}) {
        for (int x = -200; x <= 200; ++x) {
            const int width = gemm::info(dtype).bits, most = (1 << (width - 1)) - 1;
            const int held = std::clamp(x, -most - 1, most);
            tally.encodes(dtype, x, static_cast<std::uint32_t>(held) & ((1u << width) - 1));
            tally.check(gemm::exact_value(dtype, static_cast<std::uint32_t>(held)) == held, dtype, x, 0, 0);
        }
    }
    for (const std::int32_t x : {0, 1, -1, 16777217, -16777217, 0x7ffffffe, 0x7fffffff, -0x7fffffff - 1}) {
        tally.encodes(DType::int32, x, static_cast<std::uint32_t>(x));
        tally.check(gemm::exact_value(DType::int32, static_cast<std::uint32_t>(x)) == x, DType::int32, x, 0,
                    0);
    }
    tally.require_none();
    CHECK(gemm::decode(DType::int32, 16777217) == 16777216.0f);
}

TEST_CASE("codec: poison and guard") {
    const std::set<DType> told{DType::fp32, DType::tf32, DType::bf16, DType::fp16, DType::e4m3, DType::e5m2};
    const float poison = std::bit_cast<float>(gemm::kPoisonBits),
                guard = std::bit_cast<float>(gemm::kGuardBits);
    for (const DType dtype : gemm::all_dtypes()) {
        const gemm::DTypeInfo& i = gemm::info(dtype);
        INFO(i.name);
        CHECK(i.poison != i.guard);
        CHECK(std::uint64_t{i.poison | i.guard} >> i.bits == 0);
        CHECK(gemm::encode(dtype, poison) == i.poison);
        CHECK(gemm::encode(dtype, guard) == i.guard);
        CHECK(gemm::poison_tells(dtype) == (told.count(dtype) > 0));
        CHECK(gemm::guard_tells(dtype) == (told.count(dtype) > 0 || dtype == DType::e8m0));
        const auto round_trip = [&](std::uint32_t bits) {
            return std::bit_cast<std::uint32_t>(gemm::decode(dtype, bits));
        };
        CHECK((round_trip(i.poison) == gemm::kPoisonBits) == gemm::poison_tells(dtype));
        CHECK((round_trip(i.guard) == gemm::kGuardBits) == gemm::guard_tells(dtype));
        if (gemm::is_integer(dtype)) CHECK(gemm::exact_value(dtype, i.guard) < gemm::inputs(dtype).lowest);
        // Signalling: the highest bit of the mantissa is not set. E4M3's NaNs have no such bit.
        if (gemm::poison_tells(dtype) && dtype != DType::e4m3) {
            const int unused = dtype == DType::tf32 ? 13 : 0;
            const std::uint32_t quiet = 1u << (unused + i.precision - 2);
            CHECK(((i.poison | i.guard) & quiet) == 0);
        }
        // No conversion makes the poison, of NaNs neither. An FP32 is only copied.
        if (!gemm::poison_tells(dtype) || dtype == DType::fp32) continue;
        std::size_t made = 0;
        test::each_float([&](float x) {
            made +=
                gemm::encode(dtype, x) == i.poison || gemm::encode(dtype, static_cast<double>(x)) == i.poison;
        });
        CHECK(made == 0);
    }
}

TEST_CASE("codec: elements in memory") {
    for (const DType dtype : gemm::all_dtypes()) {
        INFO(gemm::dtype_name(dtype));
        const int bits = gemm::info(dtype).bits;
        const std::uint32_t mask = bits == 32 ? 0xffffffffu : (1u << bits) - 1;
        std::vector<std::byte> memory(gemm::bytes_of(dtype, 9), std::byte{0xa5});
        for (const std::size_t element : {8u, 0u, 3u, 2u, 1u, 7u, 4u, 6u, 5u}) {
            gemm::store_bits(dtype, memory.data(), element,
                             static_cast<std::uint32_t>(element) * 0x9e3779b9u & mask);
        }
        for (std::size_t element = 0; element < 9; ++element) {
            CHECK(gemm::load_bits(dtype, memory.data(), element) ==
                  (static_cast<std::uint32_t>(element) * 0x9e3779b9u & mask));
        }
        if (bits == 4) CHECK((memory[4] & std::byte{0xf0}) == std::byte{0xa0});  // nobody's
    }
    const unsigned char two = 0xc5;  // as __nv_fp4x2_e2m1: x in the lower half, y in the upper
    CHECK(gemm::exact_value(DType::e2m1, gemm::load_bits(DType::e2m1, &two, 0)) == 3.0);
    CHECK(gemm::exact_value(DType::e2m1, gemm::load_bits(DType::e2m1, &two, 1)) == -2.0);
    CHECK(gemm::exact_value(DType::int4, gemm::load_bits(DType::int4, &two, 1)) == -4.0);
}

TEST_CASE("codec: a buffer holds elements of every type between guard bands") {
    test::device();
    for (const DType dtype : gemm::all_dtypes()) {
        INFO(gemm::dtype_name(dtype));
        for (const gemm::Placement& place : {gemm::Placement{}, {2, 1, 0}, {4, 3, 6}}) {
            gemm::Elements host(dtype, 24);
            for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<double>(i % 7);
            gemm::Buffer buffer(host.size(), 8, dtype, place);
            buffer.upload(host);
            CHECK((buffer.download() == host));
            CHECK((buffer.duplicate().download() == host));
            CHECK(buffer.breach("X").empty());
            const gemm::Image image = buffer.image();
            CHECK(image.bytes.size() == buffer.bytes_with_bands());
            CHECK(std::memcmp(image.bytes.data() + image.start, host.bytes().data(), host.bytes().size()) ==
                  0);
            // The byte in front of the first element, and the one behind the last: the nearest of those that
            // lie in it is named.
            for (const bool behind : {false, true}) {
                std::vector<std::byte> spoiled = image.bytes;
                const std::size_t at = behind ? image.start + host.bytes().size() : image.start - 1;
                spoiled[at] = ~spoiled[at];
                buffer.set_image(spoiled);
                const std::string nearest = !behind && gemm::info(dtype).bits == 4 ? "2" : "1";
                CHECK(buffer.breach("X") == "A write outside X: " + nearest + " elements " +
                                                (behind ? "past its end." : "before its start."));
            }
            buffer.set_image(image.bytes);
            CHECK(buffer.breach("X").empty());
        }
    }
}

TEST_CASE("codec: elements are rounded to their type when they are written") {
    for (const DType dtype : gemm::all_dtypes()) {
        INFO(gemm::dtype_name(dtype));
        gemm::Elements all(dtype, 5, gemm::info(dtype).poison);
        for (std::size_t i = 0; i < all.size(); ++i) CHECK(all.bits(i) == gemm::info(dtype).poison);
        all[1] = 1.26;
        all[2] = 1.26f;
        all[4] = std::bit_cast<float>(gemm::kGuardBits);
        CHECK(all.bits(1) == gemm::encode(dtype, 1.26));
        CHECK(all.bits(2) == gemm::encode(dtype, 1.26f));
        CHECK(all.bits(4) == gemm::info(dtype).guard);
        all[3] = all[1];
        CHECK(all.bits(3) == all.bits(1));
        CHECK(all.bits(0) == gemm::info(dtype).poison);
        const gemm::Elements& same = all;
        CHECK(same[1] == gemm::exact_value(dtype, all.bits(1)));
        all.fill(2.0f);
        CHECK((all == gemm::elements(dtype, std::vector<float>(5, 2.0f))));
        CHECK(gemm::floats(all) == std::vector<float>(5, 2.0f));
    }
}

TEST_CASE("codec: NVIDIA's headers agree") {
    REQUIRE(recorded().size() == 6);
    for (const auto& [name, facts] : recorded().items()) {
        INFO(name);
        const DType dtype = type_of_name(name);
        const auto encode = [&](auto x) { return gemm::encode(dtype, x); };
        const auto decode = [&](std::uint32_t bits) { return gemm::decode(dtype, bits); };
        CHECK(encode(kInf) == facts.at("infinity"));
        CHECK(encode(-kInf) == facts.at("minus_infinity"));
        CHECK(encode(-0.0f) == facts.at("minus_zero"));
        if (facts.contains("values")) {
            CHECK(encode(kNaN) == facts.at("nan"));
            CHECK(encode(-kNaN) == facts.at("minus_nan"));
            std::uint32_t pattern = 0;
            for (const Json& value : facts.at("values")) {
                INFO("pattern " << pattern);
                const double ours = gemm::exact_value(dtype, pattern);
                const float single = decode(pattern++);
                // JSON has no infinities either.
                if (value.is_null()) {
                    CHECK_FALSE(std::isfinite(ours));
                } else {
                    CHECK(word(ours) == word(value.get<double>()));
                    CHECK(static_cast<double>(single) == ours);
                }
            }
            CHECK(pattern == 1u << gemm::info(dtype).bits);
            std::uint32_t next = 0;
            for (const Json& begin : facts.at("begins")) {
                const auto x = begin.get<float>();
                INFO(next << " begins at " << x);
                CHECK(encode(x) == next);
                if (x > 0) CHECK(encode(std::nextafter(x, 0.0f)) + 1 == next);
                ++next;
            }
        }
        CHECK(test::digest_of_values(gemm::info(dtype).bits, decode) == facts.at("values_digest"));
        CHECK(test::digest_of_floats(encode) == facts.at("floats_digest"));
    }
}

TEST_CASE("codec: what is recorded of NVIDIA's headers is what they say", "[alone]") {
#ifdef GEMM_NVIDIA_TYPES
    const test::Result said = test::run_program("nvidia_types");
    REQUIRE(said.status == 0);
    CHECK(Json::parse(said.out).at("types") == recorded());
#else
    test::skip("the CUDA toolkit's cuda_fp4.h and cuda_fp8.h were not found");
#endif
}
