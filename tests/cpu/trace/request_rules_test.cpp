// The tracer's rules of sectors and wavefronts as a table of cases, tests/recorded/requests.json. Python
// (runner/core/memory.py) and JavaScript (website/explorer/banks.js) are held against it. GEMM_APPROVE=1
// writes it anew.
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "common/cpu/trace/banks.hpp"
#include "common/cpu/trace/trace.hpp"
#include "tests/catch.hpp"

#include <nlohmann/json.hpp>

namespace request_rules_test {
namespace {

namespace trace = cpu_device::trace;
using Json = nlohmann::ordered_json;
using Addresses = std::vector<std::uint64_t>;  // of the lanes that take part
using Place = std::function<std::uint64_t(unsigned lane)>;

constexpr std::uint32_t kAll = 0xffffffffu;
constexpr std::array<std::uint32_t, 6> kMasks = {kAll, 0xffffu, 0x55555555u, 0x00ff00ffu, 0x80000001u, 0x10u};

Addresses of_lanes(std::uint32_t lanes, const Place& place) {
    Addresses found;
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (lanes >> lane & 1u) found.push_back(place(lane));
    }
    return found;
}

Json request(int width, bool store, std::uint32_t lanes, const Place& place) {
    const Addresses addresses = of_lanes(lanes, place);
    const int count = std::popcount(lanes);
    const std::uint64_t bytes = trace::distinct_bytes(addresses.data(), count, width);
    return {{"width", width},
            {"store", store},
            {"lanes", lanes},
            {"addresses", addresses},
            {"bytes", bytes},
            {"sectors", trace::sectors(addresses.data(), count, width)},
            {"wavefronts", trace::wavefronts(lanes, addresses.data(), width, store)},
            {"least_wavefronts", trace::least_wavefronts(lanes, bytes, width)}};
}

/// A cp.async; lanes that are not in `reads` fill with zeros.
Json copy(int width, std::uint32_t lanes, const Place& to, std::uint32_t reads, const Place& from) {
    const Addresses addresses = of_lanes(lanes, to), sources = of_lanes(reads, from);
    trace::CopyPasses passes;
    passes.reads(reads, sources.data());
    return {{"width", width},         {"lanes", lanes},
            {"addresses", addresses}, {"reads", reads},
            {"from", sources},        {"wavefronts", passes.wavefronts(lanes, addresses.data(), width)}};
}

Json cases() {
    Json all = Json::array();
    std::mt19937_64 numbers(1);
    for (const unsigned width : {1u, 2u, 4u, 8u, 16u}) {
        const auto bytes = static_cast<int>(width);
        std::vector<Place> places = {
            [&](unsigned l) { return width * (l / 2); },
            [&](unsigned l) { return width * (l / 4 * 2 + l % 2); },
            [&](unsigned l) { return width * (l / 8 * 4 + l % 4); },
            [&](unsigned l) { return 128 * (l / 16); },
            [](unsigned l) { return 24 + 100 * l; },
            [&](unsigned l) { return width * (l < 16 ? l / 2 : l / 4 * 2 + l % 2); }};
        for (const unsigned stride : {0u, 1u, 2u, 3u, 12u, 32u, 33u, 36u})
            places.emplace_back([width, stride](unsigned l) { return width * stride * l; });
        for (const Place& place : places) {
            for (const bool store : {false, true}) all.push_back(request(bytes, store, kAll, place));
        }
        for (const std::uint32_t lanes : kMasks)
            all.push_back(request(bytes, false, lanes, [&](unsigned l) { return 64 + 3 * width * l; }));
        for (int i = 0; i < 16; ++i) {
            const auto lanes = static_cast<std::uint32_t>(numbers() | 1u);
            all.push_back(
                request(bytes, i % 2 == 1, lanes, [&](unsigned) { return numbers() % 64 * width; }));
        }
        if (width < 4) continue;
        for (const unsigned pitch : {4u, 32u, 33u, 128u}) {
            for (const std::uint32_t reads : {kAll, 0xffffu}) {
                all.push_back(copy(
                    bytes, kAll, [&](unsigned l) { return width * l; }, reads,
                    [&](unsigned l) { return width * pitch * l; }));
                all.push_back(copy(
                    bytes, kAll, [&](unsigned l) { return l % 8 * 128 + l / 8 * width; }, reads,
                    [&](unsigned l) { return l / 8 * pitch * 4 + l % 8 * width; }));
            }
        }
    }
    return all;
}

std::string as_text(const Json& all) {
    std::string text;
    for (const Json& one : all) text += (text.empty() ? "[\n" : ",\n") + one.dump();
    return text + "\n]\n";
}

}  // namespace

TEST_CASE("trace: the table of requests is what the rules make of them") {
    const std::string file = GEMM_SOURCE_DIR "/tests/recorded/requests.json", found = as_text(cases());
    if (std::getenv("GEMM_APPROVE") != nullptr) std::ofstream(file) << found;
    std::ostringstream recorded;
    recorded << std::ifstream(file).rdbuf();
    CHECK((recorded.str() == found));  // else GEMM_APPROVE=1, and git diff shows what is new about it
}

}  // namespace request_rules_test
