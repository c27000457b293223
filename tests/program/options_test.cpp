// What the command line accepts.
#include "common/program/options.hpp"

#include <cstdint>
#include <limits>

#include "common/error.hpp"
#include "tests/support.hpp"

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("options: whole numbers") {
    const auto parse = [](const std::string& text) { return gemm::whole_number("--m", text, 0, kMost); };
    CHECK(parse("0") == 0);
    CHECK(parse("4096") == 4096);
    CHECK(parse("0007") == 7);
    CHECK(parse("9223372036854775807") == kMost);
    for (const std::string bad : {"", "-1", "x", "12x", "1.5", "1e3", " 7", "7 ", "+7", "0x10",
                                  "9223372036854775808", "99999999999999999999999", "4096,", "NaN"}) {
        const std::string error = test::error_of([&] { parse(bad); });
        CHECK(error == "--m must be a whole number from 0 to 9223372036854775807, and is \"" + bad + "\".");
    }
    CHECK(gemm::whole_number("--rounds", "1000", 0, 1000) == 1000);
    CHECK_THROWS_AS(gemm::whole_number("--rounds", "1001", 0, 1000), gemm::Error);
}

TEST_CASE("options: seeds") {
    CHECK(gemm::seed_number("--seed", "18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
    for (const std::string bad : {"", "-1", "18446744073709551616", "x", "1 "}) {
        test::require_contains(
            test::error_of([&] { gemm::seed_number("--seed", bad); }),
            "--seed must be a whole number from 0 to 18446744073709551615, and is \"" + bad + "\".");
    }
}

TEST_CASE("options: scalars") {
    CHECK(gemm::finite_number("--alpha", "-0.5") == -0.5f);
    CHECK(gemm::finite_number("--alpha", "1e3") == 1000.0f);
    CHECK(gemm::finite_number("--alpha", "0") == 0.0f);
    for (const std::string bad : {"", "x", "nan", "inf", "-inf", "1e39", "1,5", "1.5f", "--1"}) {
        test::require_contains(test::error_of([&] { gemm::finite_number("--alpha", bad); }),
                               "--alpha must be a finite number");
    }
}

TEST_CASE("options: lists") {
    CHECK(gemm::comma_separated("--sizes", "a") == std::vector<std::string>{"a"});
    CHECK(gemm::comma_separated("--sizes", "a,b,c") == std::vector<std::string>{"a", "b", "c"});
    for (const std::string bad : {"", ",", "a,", ",a", "a,,b"}) {
        CHECK_THROWS_AS(gemm::comma_separated("--sizes", bad), gemm::Error);
    }
}
