// What the command line accepts.
#include "common/program/options.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/check/variant.hpp"
#include "common/error.hpp"
#include "tests/support.hpp"

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("options: what they take") {
    const auto whole = [](const std::string& text) { return gemm::whole_number("--m", text, 0, kMost); };
    CHECK(whole("0") == 0);
    CHECK(whole("4096") == 4096);
    CHECK(whole("0007") == 7);
    CHECK(whole("9223372036854775807") == kMost);
    CHECK(gemm::whole_number("--rounds", "1000", 0, 1000) == 1000);
    CHECK(gemm::seed_number("--seed", "18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
    CHECK(gemm::finite_number("--alpha", "-0.5") == -0.5f);
    CHECK(gemm::finite_number("--alpha", "1e3") == 1000.0f);
    CHECK(gemm::finite_number("--alpha", "0") == 0.0f);
    CHECK(gemm::comma_separated("--sizes", "a") == std::vector<std::string>{"a"});
    CHECK(gemm::comma_separated("--sizes", "a,b,c") == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("options: what they refuse, and in which words") {
    std::vector<std::string> said;
    const auto refuses = [&](const auto& parse, std::initializer_list<const char*> all) {
        for (const std::string bad : all) {
            const test::Thrown thrown = test::thrown_by([&] { (void)parse(bad); });
            CHECK(thrown.id == gemm::FaultId::other);  // an Error, and no std::exception
            said.push_back("'" + bad + "': " + thrown.text);
        }
    };
    refuses([](const std::string& text) { return gemm::whole_number("--m", text, 0, kMost); },
            {"", "-1", "x", "12x", "1.5", "1e3", " 7", "7 ", "+7", "0x10", "9223372036854775808",
             "99999999999999999999999", "4096,", "NaN"});
    refuses([](const std::string& text) { return gemm::whole_number("--rounds", text, 0, 1000); }, {"1001"});
    refuses([](const std::string& text) { return gemm::seed_number("--seed", text); },
            {"", "-1", "18446744073709551616", "x", "1 "});
    refuses([](const std::string& text) { return gemm::finite_number("--alpha", text); },
            {"", "x", "nan", "inf", "-inf", "1e39", "1,5", "1.5f", "--1"});
    refuses([](const std::string& text) { return gemm::comma_separated("--sizes", text); },
            {"", ",", "a,", ",a", "a,,b"});
    refuses([](const std::string& text) { return gemm::variant_option("", text); }, {"tf32", "bf16.nt"});
    refuses([](const std::string& text) { return gemm::variant_option(text, ""); }, {"int8"});
    refuses([](const std::string& text) { return gemm::variant_option(text, "bf16"); }, {"bf16"});
    test::require_approved("options", said);
}
