// gemm_inspect, run as the runner runs it.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/program/lessons.hpp"
#include "tests/process.hpp"
#include "tests/support.hpp"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

using test::contents;
using test::Folder;
using test::require_contains;
using test::Result;

Result inspect(const std::string& options) {
    return test::run_program("gemm_inspect " + options);
}

/// The object's keys in alphabetical order, with a space between each two.
std::string keys_of(const nlohmann::json& object) {
    std::string keys;
    for (const auto& [key, value] : object.items()) keys += (keys.empty() ? "" : " ") + key;
    return keys;
}

}  // namespace

TEST_CASE("gemm_inspect: what it refuses") {
    const std::vector<std::pair<std::string, std::string>> refused{
        {"", "lesson"},
        {"--lesson 99_none", "\"99_none\"; there are 01_naive, "},
        {"--lesson 01_naive --m -1", "--m"},
        {"--lesson 01_naive --n x", "--n"},
        {"--lesson 01_naive --k 1.5", "--k"},
        {"--lesson 01_naive --alpha inf", "--alpha"},
        {"--lesson 01_naive --beta z", "--beta"},
        {"--lesson 01_naive --seed -3", "--seed"},
        {"--lesson 01_naive --blocks 0", "--blocks"},
        {"--lesson 01_naive --blocks some", "--blocks"},
        {"--lesson 01_naive --like sm_1", "sm_1"},
        {"--lesson 01_naive --output /nonexistent/file", "--output"},
        {"--lesson 01_naive --wrong", "--wrong"}};
    for (const auto& [options, part] : refused) {
        const Result r = inspect(options);
        INFO(options << "\nout: " << r.out << "\nerr: " << r.err);
        CHECK(r.status == 2);
        CHECK(r.out.empty());
        CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
        CHECK(r.err.ends_with(".\n"));
        require_contains(r.err, part);
    }
}

TEST_CASE("gemm_inspect: its JSON") {
    for (const gemm::Lesson* lesson : test::drawn_lessons(3)) {
        // What the copy engine and the warpgroups' multiplications add is tested with them.
        if (lesson->variants.front().architectures.exactly != nullptr) continue;
        const Result r = inspect("--lesson " + std::string(lesson->name) +
                                 " --m 33 --n 47 --k 29 --alpha 1.5 --beta -0.5 --seed 7 --like sm_86");
        INFO(r.err << r.out);
        REQUIRE(r.status == 0);
        const Json json = Json::parse(r.out);
        CHECK(keys_of(json) ==
              "alpha barriers_per_thread batch before beta blocks error findings groups k kernel lesson like "
              "lines "
              "m n "
              "owners schema seconds seed threads_per_block totals traced_blocks variant verdict wgmma");
        CHECK(json.at("schema") == 1);
        CHECK(json.at("lesson") == lesson->name);
        CHECK(json.at("m") == 33);
        CHECK(json.at("n") == 47);
        CHECK(json.at("k") == 29);
        CHECK(json.at("alpha") == 1.5);
        CHECK(json.at("beta") == -0.5);
        CHECK(json.at("seed") == 7);
        CHECK(json.at("like") == "sm_86");
        CHECK(json.at("blocks") == json.at("traced_blocks"));
        CHECK(json.at("findings") == Json::array());
        CHECK(json.at("error").is_null());
        CHECK(json.at("verdict").at("passed") == true);
        CHECK(json.at("seconds") > 0.0);

        std::uint64_t loaded = 0, stored = 0, shared = 0;
        for (const Json& line : json.at("lines")) {
            INFO(line.dump());
            CHECK(keys_of(line) ==
                  "array bytes diverged file ideal_sectors ideal_wavefronts line matrix op requests sample "
                  "sectors space tensor_map threads wavefronts width");
            const auto file = line.at("file").get<std::string>();
            // The lesson's own kernel, or a part that it shares with others.
            if (!file.starts_with("common/parts/")) {
                CHECK(file.ends_with("/kernel.cu"));
                CHECK(contents(GEMM_SOURCE_DIR "/" + file).find('"' + std::string(lesson->name) + '"') !=
                      std::string::npos);
            }
            const bool is_shared = line.at("space") == "shared";
            CHECK((is_shared || line.at("space") == "global"));
            CHECK((line.at("op") == "load" || line.at("op") == "store"));
            CHECK(line.at(is_shared ? "sectors" : "wavefronts") == 0);
            const Json& sample = line.at("sample");
            CHECK(keys_of(sample) == "block lanes offsets warp");
            CHECK(sample.at("block") == 0);
            CHECK_FALSE(sample.at("lanes").empty());
            CHECK(sample.at("lanes").size() == sample.at("offsets").size());
            if (is_shared) {
                shared += line.at("bytes").get<std::uint64_t>();
            } else {
                (line.at("op") == "load" ? loaded : stored) += 32 * line.at("sectors").get<std::uint64_t>();
            }
        }
        const Json& totals = json.at("totals");
        CHECK(keys_of(totals) ==
              "flop flop_per_byte global_bytes global_load_bytes global_store_bytes shared_bytes "
              "shared_bytes_per_flop");
        CHECK(totals.at("flop") == 2.0 * 33 * 47 * 29);
        CHECK(totals.at("global_load_bytes") == loaded);
        CHECK(totals.at("global_store_bytes") == stored);
        CHECK(totals.at("global_bytes") == loaded + stored);
        CHECK(totals.at("shared_bytes") == shared);
        CHECK(totals.at("flop_per_byte").get<double>() ==
              2.0 * 33 * 47 * 29 / static_cast<double>(loaded + stored));
        const Json& owners = json.at("owners");
        CHECK(keys_of(owners) == "array block cols rows threads");
        CHECK(owners.at("array") == "C");
        CHECK(owners.at("rows").size() == owners.at("cols").size());
        CHECK(owners.at("rows").size() == owners.at("threads").size());
        for (std::size_t at = 0; (at = r.err.find("progress ", at)) != std::string::npos; ++at) {
            CHECK((at == 0 || r.err[at - 1] == '\n'));
        }
        require_contains(r.err, "progress 100 100 ");
    }
}

TEST_CASE("gemm_inspect: elements of two bytes") {
    const auto traced = [](const std::string& options) {
        const Result r = test::run_program("mixed_inspect --m 32 --n 32 --k 16 --seed 7 " + options);
        INFO(r.out << r.err);
        REQUIRE(r.status == 0);
        return Json::parse(r.out);
    };
    for (const std::string dtype : {"bf16", "fp16"}) {
        const Json json = traced("--lesson short_types --beta 2 --dtype " + dtype);
        CHECK(json.at("variant") == dtype);
        CHECK(json.at("findings") == Json::array());
        CHECK(json.at("verdict").at("passed") == true);
        CHECK(json.at("totals").at("flop") == 2.0 * 32 * 32 * 16);
        std::set<std::string> arrays;
        for (const Json& line : json.at("lines")) {
            INFO(line.dump());
            const auto array = line.at("array").get<std::string>();
            arrays.insert(array);
            CHECK(line.at("width") == 2);
            const auto requests = line.at("requests").get<std::uint64_t>();
            // A warp covers two rows of 16 columns of C: an element of two rows of A, 16 neighbors of one
            // row of B (32 bytes), and those of two rows of C.
            CHECK(requests == (array == "C" ? 32u : 32u * 16));
            CHECK(line.at("sectors") == requests * (array == "B" ? 1 : 2));
        }
        CHECK(arrays == std::set<std::string>{"A", "B", "C"});
        CHECK(json.at("owners").at("rows").size() == 16 * 16);
    }
    CHECK(traced("--lesson short_types").at("variant") == "bf16");
    CHECK(traced("--lesson 03_smem").at("variant") == "fp32");
    const Result refused = test::run_program("mixed_inspect --lesson 03_smem --dtype fp16");
    CHECK(refused.status == 2);
    for (const char* const named : {"03_smem", "fp16", "fp32."}) require_contains(refused.err, named);
}

TEST_CASE("gemm_inspect: a sample of blocks, and a file") {
    const Folder folder;
    const fs::path file = folder.path / "trace.json";
    const Result r =
        inspect("--lesson 02_coalesced --m 128 --n 128 --k 9 --blocks 3 --output '" + file.string() + "'");
    INFO(r.err);
    REQUIRE(r.status == 0);
    CHECK(r.out.empty());
    CHECK_FALSE(fs::exists(file.string() + ".tmp"));
    const Json json = Json::parse(contents(file));
    CHECK(json.at("blocks") == 16);
    CHECK(json.at("traced_blocks") == 3);
    CHECK(json.at("verdict").is_null());
    CHECK(json.at("totals").at("flop") == 2.0 * 3 * 1024 * 9);
    for (const Json& line : json.at("lines")) {
        if (line.at("array") != "C") CHECK(line.at("requests") == 3 * 32 * 9);
    }
    CHECK(Json::parse(inspect("--lesson 02_coalesced --m 64 --n 64 --k 9 --blocks 50").out)
              .at("traced_blocks") == 4);
    // Whom to compare with is the caller's word.
    const std::string empty = "--lesson 09a_wmma --m 0 --n 5 --k 5";
    CHECK(Json::parse(inspect(empty + " --before 08b_read_ahead").out).at("before") == "08b_read_ahead");
    CHECK(Json::parse(inspect(empty).out).at("before").is_null());
    const Json one = Json::parse(inspect("--lesson 03_smem --m 64 --n 64 --k 9 --blocks 1").out);
    CHECK(one.at("traced_blocks") == 1);
    CHECK(one.at("owners").at("block") == 0);
    // A seed repeats a run; without one they differ.
    const std::string small = "--lesson 01_naive --m 3 --n 3 --k 3";
    CHECK(Json::parse(inspect(small).out).at("seed") != Json::parse(inspect(small).out).at("seed"));
}

TEST_CASE("gemm_inspect: nothing to do") {
    const Result r = inspect("--lesson 03_smem --m 0 --n 5 --k 5");
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    const Json json = Json::parse(r.out);
    CHECK(json.at("lines") == Json::array());
    CHECK(json.at("blocks") == 0);
    CHECK(json.at("totals").at("flop_per_byte").is_null());
    CHECK(inspect("--lesson 03_smem --m 0 --n 5 --k 5 --blocks 2").status == 0);
    CHECK(inspect("--lesson 03_smem --m 5 --n 5 --k 0").status == 0);
}
