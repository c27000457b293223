// Lesson programs and gemm_bench, run as a user runs them: exit status, standard output, standard error.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/check/variant.hpp"
#include "common/check/words.hpp"
#include "common/measure/launch_watch.hpp"
#include "common/measure/measure.hpp"
#include "common/program/lessons.hpp"
#include "common/program/options.hpp"
#include "tests/process.hpp"
#include "tests/support.hpp"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::contents;
using test::Folder;
using test::require_contains;
using test::Result;
using test::run_program;

/// What a program says that could not run: status 2, nothing on standard output, one sentence on standard
/// error.
std::string refused(const std::string& command) {
    const Result r = run_program(command);
    INFO(command << "\nout: " << r.out << "\nerr: " << r.err);
    REQUIRE(r.status == 2);
    REQUIRE(r.out.empty());
    REQUIRE(r.err.ends_with(".\n"));
    REQUIRE(r.err.find('\n') == r.err.size() - 1);
    return r.err.substr(0, r.err.size() - 1);
}

/// Where the sentence depends on the machine or on which lessons there are: what it must name.
void require_refused(const std::string& command, const std::vector<std::string>& named) {
    const std::string said = refused(command);
    INFO(command);
    for (const std::string& part : named) require_contains(said, part);
}

/// Everywhere else: what each program says of each option, in tests/approved/<name>.txt.
void require_refusals(const std::string& name,
                      const std::vector<std::pair<std::string, std::vector<std::string>>>& programs) {
    std::vector<std::string> lines;
    for (const auto& [program, all] : programs) {
        for (const std::string& options : all) {
            lines.insert(lines.end(), {"$ " + program + " " + options, refused(program + " " + options)});
        }
    }
    test::require_approved(name, lines);
}

std::vector<std::string> lesson_names() {
    std::vector<std::string> names;
    for (const gemm::Lesson* lesson : gemm::all_lessons()) names.emplace_back(lesson->name);
    return names;
}

const std::vector<std::string> kTilingKeys{"BM", "BN", "BK", "slices", "blocks", "blocks_per_sm"};

void require_keys(const Json& object, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
        INFO(key << " in " << object.dump());
        REQUIRE(object.contains(key));
    }
}

/// What no_k_tail's verdict says (patterns.txt has the words), at K = 75.
std::string k_tail() {
    return gemm::pattern_text({gemm::PatternId::k_tail, "", "", 0, 64, 75});
}

const std::string kSmall = " --m 33 --n 31 --k 65 --verify-only";

}  // namespace

TEST_CASE("program: a readable report") {
    for (const std::string& name : lesson_names()) {
        const Result r = run_program(name + kSmall + " --seed 7");
        INFO(r.out << r.err);
        REQUIRE(r.status == 0);
        REQUIRE(r.err.empty());
        require_contains(r.out, name + "  33×31×65");
        require_contains(r.out, "  on " + test::device().name);
        require_contains(r.out, "right  1023 elements checked");
        require_contains(r.out, "seed 7");
    }
}

TEST_CASE("program: --json holds what other programs read") {
    for (const std::string& name : lesson_names()) {
        const Result r = run_program(name + kSmall +
                                     " --lda 70 --alpha 1.5 --beta -0.5 --seed 18446744073709551615 --json");
        INFO(r.out << r.err);
        REQUIRE(r.status == 0);
        const Json json = Json::parse(r.out);
        CHECK(json.at("lesson") == name);
        CHECK(json.at("variant") == gemm::text(test::lesson(name).variant()));
        CHECK(json.at("m") == 33);
        CHECK(json.at("n") == 31);
        CHECK(json.at("k") == 65);
        CHECK(json.at("lda") == 70);
        CHECK(json.at("ldb") == 31);
        CHECK(json.at("ldc") == 31);
        CHECK(json.at("alpha") == 1.5);
        CHECK(json.at("beta") == -0.5);
        CHECK(json.at("seed") == 18446744073709551615ull);
        CHECK(json.at("time").is_null());
        const Json& device = json.at("device");
        require_keys(device,
                     {"kind", "name", "compute_capability", "multiprocessors", "l2_bytes", "driver", "cuda"});
        CHECK(device.at("kind") == test::device().kind);
        CHECK(device.at("name") == test::device().name);
        const Json& verdict = json.at("verdict");
        CHECK(verdict.at("passed") == true);
        CHECK(verdict.at("checked") == 1023);
        CHECK(verdict.at("wrong") == 0);
        CHECK(verdict.at("failure").is_null());
        CHECK(verdict.at("text") == "");
        CHECK(verdict.at("error_over_bound") < 1.0);
        CHECK(verdict.at("rms_error") <= verdict.at("rms_limit"));
        const Json& resources = json.at("resources");
        require_keys(resources, {"registers", "local_bytes", "blocks_per_sm", "static_shared_bytes",
                                 "dynamic_shared_bytes"});
        const dim3 block = test::lesson(name).block();
        CHECK(resources.at("threads_per_block") == block.x * block.y * block.z);
        CHECK(resources.at("registers").is_null() == (test::device().kind == "cpu"));
    }
}

TEST_CASE("program: a seed repeats a run and none gives a fresh one") {
    const auto verdict = [](const std::string& options) {
        return Json::parse(run_program("01_naive" + kSmall + " --json" + options).out);
    };
    CHECK(verdict(" --seed 5").at("verdict") == verdict(" --seed 5").at("verdict"));
    CHECK(verdict(" --seed 5").at("verdict") != verdict(" --seed 6").at("verdict"));
    CHECK(verdict("").at("seed") != verdict("").at("seed"));
}

TEST_CASE("program: empty problems") {
    for (const std::string& name : lesson_names()) {
        CHECK(run_program(name + " --verify-only --m 0 --n 5 --k 5").status == 0);
        CHECK(run_program(name + " --verify-only --m 5 --n 0 --k 5").status == 0);
        CHECK(run_program(name + " --verify-only --m 5 --n 5 --k 0 --beta 2").status == 0);
    }
}

TEST_CASE("program: --help") {
    const Result r = run_program("03_smem --help");
    REQUIRE(r.status == 0);
    for (const std::string option : {"--m", "--n", "--k", "--lda", "--ldb", "--ldc", "--alpha", "--beta",
                                     "--seed", "--device", "--rounds", "--verify-only", "--json"}) {
        require_contains(r.out, option);
    }
}

TEST_CASE("program: options that are wrong") {
    for (const std::string& name : lesson_names()) {
        require_refused(name + " --m -1", {name + ": ", "--m", "\"-1\""});
    }
    require_refusals("refused_options",
                     {{"01_naive",
                       {"--n 12x", "--k 1.5", "--m 99999999999999999999", "--m ''", "--alpha nan",
                        "--beta 1e99", "--seed -1", "--rounds 1001", "--device -1",
                        "--m 8 --n 8 --k 8 --lda 7", "--m 8 --n 8 --k 8 --ldb 7", "--m 8 --n 8 --k 8 --ldc 7",
                        "--m 4294967296 --n 4294967296 --k 1", "--dtype bf16"}},
                      {"short_lesson",
                       {"--dtype fp32", "--dtype tf32", "--variant bf16.nn", "--variant bf16.nt",
                        "--variant bf16 --dtype bf16"}}});
    // CLI11's words, which differ from version to version.
    require_refused("01_naive --nonsense", {"01_naive: ", "--nonsense", "--help"});
    require_refused("01_naive 4096", {"4096", "--help"});
    require_refused("01_naive --m", {"--m"});
    require_refused("01_naive --device 99", {" 99;"});
    require_refused("01_naive --m 1000000 --n 1000000 --k 1000", {"1000000×1000000×1000 ", " GB "});
#ifdef GEMM_CPU_DEVICE
    require_refused("01_naive --like sm_10", {"'sm_10'", "sm_75, "});
#else
    require_refused("01_naive --like sm_80", {"--like"});
#endif
}

#ifdef GEMM_CPU_DEVICE
TEST_CASE("program: --like chooses whose limits hold") {
    const Result r = run_program("03_smem" + kSmall + " --like sm_86 --json");
    REQUIRE(r.status == 0);
    const Json device = Json::parse(r.out).at("device");
    CHECK(device.at("compute_capability") == "8.6");
    CHECK(device.at("name") == "CPU device (limits of sm_86)");
}
#endif

TEST_CASE("program: a kernel that is wrong") {
    const Result r = run_program("wrong_lesson --m 64 --n 64 --k 75 --seed 9");
    INFO(r.out << r.err);
    REQUIRE(r.status == 1);
    require_contains(r.out, "WRONG");
    for (const char* const named : {"no_k_tail", "64×64×75", "seed 9"}) require_contains(r.out, named);
    require_contains(r.out, k_tail());

    const Result json = run_program("wrong_lesson --m 64 --n 64 --k 75 --json");
    REQUIRE(json.status == 1);
    const Json object = Json::parse(json.out);
    CHECK(object.at("verdict").at("passed") == false);
    CHECK(object.at("verdict").at("wrong") > 4000);
    CHECK(object.at("time").is_null());  // what is wrong is not timed
    require_contains(object.at("verdict").at("text").get<std::string>(), k_tail());
    CHECK(object.at("verdict").at("failure") == "elements");
    const Json& first = object.at("verdict").at("first");
    CHECK(first.at("row") == 0);
    CHECK(first.at("column") == 0);
    CHECK(first.at("got").is_number());
    CHECK(std::fabs(first.at("got").get<double>() - first.at("expected").get<double>()) > first.at("bound"));
    const Json& pattern = object.at("verdict").at("patterns").at(0);
    CHECK(pattern.at("id") == "k_tail");
    CHECK(pattern.at("from") == 0);
    CHECK(pattern.at("to") == 64);
    CHECK(pattern.at("of") == 75);
    CHECK_FALSE(pattern.contains("row"));
    CHECK(run_program("wrong_lesson --m 64 --n 64 --k 64 --verify-only").status == 0);
}

TEST_CASE("program: --describe writes the descriptor, and refuses what CMakeLists.txt says otherwise") {
    const Folder folder;
    const std::string file = (folder.path / "describe.json").string();
    CHECK(run_program("09f_persistent --describe=" + file + " --folder=09_x/d").status == 0);
    std::ifstream in(file);
    const Json json = Json::parse(in);
    CHECK(json.at("name") == "09f_persistent");
    CHECK(json.at("folder") == "09_x/d");
    CHECK(json.at("tile") == Json{{"BM", 256}, {"BN", 128}, {"BK", 64}});
    require_refused("01_naive --describe=" + file + " --folder=x --architectures=90a",
                    {"01_naive", "fp32", "CMakeLists.txt", "sm_90a"});
}

TEST_CASE("program: --variant chooses one that the lesson takes, --dtype in short") {
    for (const auto& [option, dtype] : {std::pair<std::string, std::string>{"", "bf16"},
                                        {" --dtype bf16", "bf16"},
                                        {" --variant bf16", "bf16"},
                                        {" --dtype=fp16", "fp16"}}) {
        const Result r = run_program("short_lesson" + kSmall + " --json" + option);
        INFO(r.out << r.err);
        REQUIRE(r.status == 0);
        CHECK(Json::parse(r.out).at("variant") == dtype);
    }
    const Result text = run_program("short_lesson" + kSmall + " --dtype fp16");
    REQUIRE(text.status == 0);
    require_contains(text.out, "short_types  33×31×65 fp16  on ");
    require_contains(run_program("short_lesson --help").out, " bf16, fp16 [bf16]");
    CHECK(run_program("01_naive" + kSmall + " --dtype fp32").status == 0);
#ifdef GEMM_CPU_DEVICE
    require_refused("short_lesson --like sm_75", {"short_types", " 8.0 ", "bf16", "--variant fp16."});
    CHECK(run_program("short_lesson" + kSmall + " --like sm_75 --dtype fp16").status == 0);
#endif
}

TEST_CASE("program: a GPU that is too old") {
#ifdef GEMM_CPU_DEVICE
    require_refused("modern_lesson --like sm_75", {"modern_lesson", " 8.0 ", "(limits of sm_75)", " 7.5."});
#else
    require_refused("modern_lesson", {"modern_lesson", " 99.0 ", test::device().name});
#endif
}

TEST_CASE("program: a kernel that never ends") {
    if (test::device().sm < 90) return test::skip("mbarriers need compute capability 9.0");
#ifdef GEMM_CPU_DEVICE
    const Result hung = run_program("hung_lesson");
    CHECK(hung.status == 2);
    CHECK(hung.out.empty());
    for (const char* const named :
         {"hung_lesson: ", "hangs, block (0,0,0)", "\n  mbarrier never: ", "0–31"}) {
        require_contains(hung.err, named);
    }
#else
    require_refused("hung_lesson --m 64 --n 64 --k 64 --patience 2",
                    {"hung_lesson ", " 2 s", "./gemm inspect hung_lesson"});
    // And the GPU is free again.
    CHECK(run_program("01_naive --verify-only" + std::string(kSmall)).status == 0);
#endif
}

TEST_CASE("program: a launch that does not end becomes a sentence, and one that does is left alone") {
    const auto ends = [](const std::function<void(gemm::LaunchWatch&)>& work) {
        int said[2];
        REQUIRE(pipe(said) == 0);
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            dup2(said[1], STDERR_FILENO);
            {
                gemm::LaunchWatch watch("10_x", 1, [](const std::string& lesson, const std::string&) {
                    (void)!write(STDERR_FILENO, lesson.data(), lesson.size());
                });
                work(watch);
            }
            _exit(0);
        }
        close(said[1]);
        std::string text;
        char some[4096];
        for (ssize_t n; (n = read(said[0], some, sizeof some)) > 0;)
            text.append(some, static_cast<std::size_t>(n));
        close(said[0]);
        int status = 0;
        waitpid(child, &status, 0);
        return std::pair(WEXITSTATUS(status), text);
    };
    const std::pair hung(int{gemm::kCouldNotRun}, "10_x" + gemm::no_end("10_x", 1) + "\n");
    CHECK(ends([](auto&) { sleep(20); }) == hung);
    CHECK(ends([](auto&) {}) == std::pair(0, std::string()));
    // Each has a second of its own, and nobody's turn has no end.
    CHECK(ends([](auto& watch) {
              for (const char* lesson : {"", "10_y", "10_z", "10_x"}) {
                  usleep(300000);
                  watch.turn(lesson);
                  if (*lesson == '\0') sleep(2);
              }
              sleep(20);
          }) == hung);
}

TEST_CASE("program: standard output that cannot be written", "[alone]") {
    if (!fs::exists("/dev/full")) return test::skip("there is no /dev/full");
    const Folder folder;
    const std::string err = (folder.path / "err").string();
    const std::string line = "'" GEMM_BIN_DIR "'/01_naive" + kSmall + " >/dev/full 2>'" + err + "'";
    const int status = std::system(line.c_str());
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 2);
    require_contains(contents(err), "01_naive: Standard output ");
}

TEST_CASE("bench: its JSON has the fields of the results file") {
    const Result r = run_program("gemm_bench --sizes 64,40x33x20 --verify-only --seed 3");
    INFO(r.out << r.err);
    REQUIRE(r.status == 0);
    const Json json = Json::parse(r.out);
    CHECK(json.at("schema") == 2);
    CHECK(json.at("seed") == 3);
    CHECK(json.at("failed") == Json::array());
    CHECK(json.at("skipped") == Json::array());
    for (const std::string& name : lesson_names()) {
        const Json& block = json.at("resources").at(name);
        require_keys(block, {"registers", "local_bytes", "blocks_per_sm", "threads_per_block",
                             "static_shared_bytes", "dynamic_shared_bytes"});
        CHECK(block.at("threads_per_block") > 0);
    }
    require_keys(json.at("device"),
                 {"kind", "name", "compute_capability", "multiprocessors", "l2_bytes", "driver", "cuda"});
    std::vector<std::string> names = lesson_names();
    // Those of one type are measured together: FP32, which the course begins with, before the others.
    std::stable_partition(names.begin(), names.end(), [](const std::string& name) {
        return test::lesson(name).variant() == gemm::of_type(gemm::DType::fp32);
    });
    REQUIRE(json.at("runs").size() == 2 * names.size());
    for (std::size_t i = 0; i < 2 * names.size(); ++i) {
        const Json& run = json.at("runs").at(i);
        CHECK(run.at("lesson") == names[i % names.size()]);
        CHECK(run.at("variant") == gemm::text(test::lesson(names[i % names.size()]).variant()));
        CHECK(run.at("m") == (i < names.size() ? 64 : 40));
        CHECK(run.at("n") == (i < names.size() ? 64 : 33));
        CHECK(run.at("k") == (i < names.size() ? 64 : 20));
        CHECK(run.at("alpha") == 1);
        CHECK(run.at("beta") == 0);
        CHECK(run.at("checked") == (i < names.size() ? 64 * 64 : 40 * 33));
        CHECK(run.at("error_over_bound") <= 1.0);
        CHECK(run.at("rms_error") <= run.at("rms_limit"));
        CHECK_FALSE(run.contains("tflops"));
        const bool chooses = test::lesson(names[i % names.size()]).tiling != nullptr;
        REQUIRE(run.contains("tiling") == chooses);
        if (chooses) require_keys(run.at("tiling"), kTilingKeys);
    }
}

TEST_CASE("how a problem is divided is told of a lesson that chooses it, and of no other") {
    const std::string size = " --m 40 --n 33 --k 20";
    const Json runs =
        Json::parse(
            run_program("gemm_bench --sizes 40x33x20 --verify-only --lessons 01_naive,15d_choose").out)
            .at("runs");
    CHECK_FALSE(runs.at(0).contains("tiling"));
    const Json& tiling = runs.at(1).at("tiling");
    require_keys(tiling, kTilingKeys);
    CHECK(tiling.at("blocks") == gemm::ceil_div(40, tiling.at("BM")) * gemm::ceil_div(33, tiling.at("BN")) *
                                     tiling.at("slices").get<int>());
    CHECK(tiling.at("blocks_per_sm") >= 1);
    CHECK(Json::parse(run_program("15d_choose --json" + size).out).at("tiling") == tiling);
    CHECK_FALSE(Json::parse(run_program("01_naive --json" + size).out).contains("tiling"));
    require_contains(run_program("15d_choose" + size).out,
                     "tiles  " + std::to_string(tiling.at("BM").get<int>()) + "x");
    CHECK(run_program("01_naive" + size).out.find("tiles  ") == std::string::npos);
}

TEST_CASE("bench: each way in which a lesson could have divided a problem is right, too") {
    for (const std::string name : {"15c_wgmma", "15d_choose"}) {
        for (const std::string size : {"40x33x150", "120x1000x200"}) {
            CAPTURE(name, size);
            const std::string command = "gemm_bench --verify-only --lessons " + name + " --sizes " + size;
            const Json chosen = Json::parse(run_program(command).out).at("runs");
            const Result all = run_program(command + " --ways");
            INFO(all.err);
            REQUIRE(all.status == 0);
            const Json runs = Json::parse(all.out).at("runs");
            REQUIRE(runs.size() >= 7);
            REQUIRE(runs.size() <= 31);
            CHECK_FALSE(runs.at(0).contains("way"));
            CHECK(runs.at(0).at("tiling") == chosen.at(0).at("tiling"));
            std::set<std::string> ways;
            for (std::size_t i = 1; i < runs.size(); ++i) {
                ways.insert(runs[i].at("way").dump());
                CHECK(runs[i].at("way").at("slices") == runs[i].at("tiling").at("slices"));
            }
            CHECK(ways.size() == runs.size() - 1);
        }
    }
    for (const std::string options :
         {"--lessons 15d_choose,01_naive", "--lessons 15d_choose --large-sizes 300"}) {
        const Result refused = run_program("gemm_bench --verify-only --ways " + options);
        CHECK(refused.status == 2);
        require_contains(refused.err, "--ways");
    }
}

TEST_CASE("bench: lessons of one type are measured together and rows say which") {
    const auto rows = [](const std::string& options) {
        const Result r = run_program("mixed_bench --verify-only --seed 3 --sizes 64,33 " + options);
        INFO(r.out << r.err);
        REQUIRE((r.status == 0 || r.status == 1));
        const Json json = Json::parse(r.out);
        std::vector<std::string> found;
        for (const char* list : {"runs", "failed"}) {
            for (const Json& run : json.at(list)) {
                found.push_back(std::string(list) + " " + run.at("lesson").get<std::string>() + " " +
                                run.at("variant").get<std::string>() + " " +
                                std::to_string(run.at("m").get<int>()));
            }
        }
        return found;
    };
    CHECK(rows("") == std::vector<std::string>{"runs short_types bf16 64", "runs 03_smem fp32 64",
                                               "runs short_types bf16 33", "runs 03_smem fp32 33",
                                               "failed bf16_cut_off bf16 64", "failed bf16_cut_off bf16 33"});
    CHECK(rows("--dtype fp16") ==
          std::vector<std::string>{"runs short_types fp16 64", "runs short_types fp16 33"});
    CHECK(rows("--dtype fp32") == std::vector<std::string>{"runs 03_smem fp32 64", "runs 03_smem fp32 33"});
    CHECK(rows("--lessons 03_smem,short_types") ==
          std::vector<std::string>{"runs 03_smem fp32 64", "runs short_types bf16 64", "runs 03_smem fp32 33",
                                   "runs short_types bf16 33"});
    require_contains(run_program("mixed_bench --verify-only --sizes 32 --lessons short_types").err,
                     "short_types 32×32×32 bf16 verifying");
}

TEST_CASE("fuzz: every lesson is right, and what is wrong is made small and can be repeated") {
    const std::string seed = " --seed " + std::to_string(test::seed());
    const Result right = run_program("gemm_fuzz --cases 48" + seed);
    INFO(right.out << right.err);
    REQUIRE(right.status == 0);

    const Result wrong = run_program("mixed_fuzz --lesson bf16_cut_off" + seed);
    INFO(wrong.out);
    REQUIRE(wrong.status == 1);
    require_contains(wrong.out, "./gemm run bf16_cut_off --verify-only --m ");
    // C is cut off instead of rounded, for which no scalar is needed, unless nothing is added up.
    const std::string scalars = wrong.out.find(" --k 0 ") == std::string::npos
                                    ? " --alpha 1 --beta 0 --variant bf16 "
                                    : " --alpha 1 --beta ";
    require_contains(wrong.out, scalars);
    REQUIRE(run_program("mixed_fuzz --lesson nobody").status == 2);
}

TEST_CASE("bench: progress is one line a step and reaches its total") {
    const Result r = run_program("gemm_bench --sizes 64,32 --lessons 02_coalesced --verify-only");
    REQUIRE(r.status == 0);
    long last = -1, total = -1;
    std::size_t lines = 0, start = 0;
    for (std::size_t end; (end = r.err.find('\n', start)) != std::string::npos; start = end + 1) {
        const std::string line = r.err.substr(start, end - start);
        long done = 0, of = 0;
        int text = 0;
        INFO(line);
        REQUIRE(std::sscanf(line.c_str(), "progress %ld %ld %n", &done, &of, &text) == 2);
        REQUIRE(text > 0);
        CHECK(done >= last);
        CHECK((total == -1 || of == total));
        last = done;
        total = of;
        ++lines;
    }
    CHECK(lines >= 3);
    CHECK(last == total);
    CHECK(total > 0);
}

TEST_CASE("bench: at some sizes with every variant that a lesson takes") {
    const Result r = run_program(
        "gemm_bench --sizes 32,48 --variant-sizes 48 --lessons 01_naive,09a_wmma --verify-only --seed 3");
    INFO(r.out << r.err);
    REQUIRE(r.status == 0);
    const Json json = Json::parse(r.out);
    std::vector<std::string> runs;
    for (const Json& run : json.at("runs")) {
        runs.push_back(run.at("lesson").get<std::string>() + " " + run.at("variant").get<std::string>() +
                       " " + std::to_string(run.at("m").get<int>()));
    }
    CHECK(runs == std::vector<std::string>{"01_naive fp32 32", "09a_wmma bf16 32", "01_naive fp32 48",
                                           "09a_wmma bf16 48", "09a_wmma fp16 48"});
    CHECK(json.at("lessons").size() == 2);
    long done = 0, of = 0;
    const std::string last = r.err.substr(r.err.rfind("progress "));
    REQUIRE(std::sscanf(last.c_str(), "progress %ld %ld ", &done, &of) == 2);
    CHECK(done == of);
    CHECK(of == 5 * 2);  // inputs and a lesson: fp32 and bf16 at both sizes, fp16 at one
}

TEST_CASE("bench: large sizes are for lessons of which it is known that they are fast") {
    const std::string options = "gemm_bench --sizes 32 --large-sizes 64 --lessons 01_naive,02_coalesced ";
    Result r = run_program(options + "--verify-only");
    INFO(r.out << r.err);
    REQUIRE(r.status == 0);
    CHECK(Json::parse(r.out).at("runs").size() == 2);  // without times, of nobody
    require_contains(r.err, "\n64×64×64 is for fast lessons alone; left out: 01_naive, 02_coalesced.\n");
    require_contains(r.err, " done\n");
    if (!gemm::kDeviceTimes) return;
    r = run_program(options + "--rounds 1");
    REQUIRE(r.status == 0);
    CHECK(Json::parse(r.out).at("runs").size() == 4);
}

TEST_CASE("bench: --output writes the file and nothing else") {
    const Folder folder;
    const fs::path file = folder.path / "out.json";
    std::ofstream(file) << "what was there before";
    const Result r = run_program("gemm_bench --sizes 32 --verify-only --lessons 01_naive,03_smem --output '" +
                                 file.string() + "'");
    INFO(r.err);
    REQUIRE(r.status == 0);
    CHECK(r.out.empty());
    CHECK(Json::parse(contents(file)).at("runs").size() == 2);
    CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
}

TEST_CASE("bench: --so-far has each size once it is finished, in the order that was asked for") {
    const Folder folder;
    const fs::path file = folder.path / "so-far.json";
    std::ofstream(file) << "what was there before";
    const std::string options =
        "gemm_bench --sizes 32,64x33x7 --lessons 01_naive,03_smem --so-far '" + file.string() + "' ";
    Result r = run_program(options + "--verify-only");
    INFO(r.out << r.err);
    REQUIRE(r.status == 0);
    const Json found = Json::parse(contents(file));
    CHECK(found == Json::parse(r.out));
    CHECK(found.at("runs").size() == 4);
    CHECK(found.at("runs").at(0).at("m") == 32);
    if (!gemm::kDeviceTimes) return;
    r = run_program(options + "--brief");
    REQUIRE(r.status == 0);
    CHECK(Json::parse(contents(file)).at("runs").at(3).at("ms_median") > 0.0);
}

TEST_CASE("bench: what it refuses") {
    require_refusals(
        "refused_by_bench",
        {{"gemm_bench",
          {"--lessons 01_naive,01_naive", "--lessons 01_naive,", "--sizes 12x", "--sizes 12x13", "--sizes -4",
           "--sizes abc", "--sizes 99999999999999999999", "--sizes 64,64", "--sizes 4294967296x4294967296x1",
           "--large-sizes 12x13", "--sizes 64,32 --large-sizes 128,64", "--seed x", "--rounds 1.5",
           "--dtype int8", "--sizes 64 --variant-sizes 32", "--sizes 64 --variant-sizes 64,64",
           "--variant bf16 --variant-sizes 256", "--batch 3", "--batch -1"}},
         {"wrong_bench", {"--dtype fp16"}},
         {"mixed_bench", {"--lessons 03_smem --dtype bf16"}}});
    require_refused("gemm_bench --nonsense", {"--nonsense"});
    require_refused("gemm_bench --lessons 99_none", {"\"99_none\"", "01_naive, "});
    require_refused("gemm_bench --device 99", {" 99;"});
    require_refused("gemm_bench --output /nonexistent/out.json", {"/nonexistent/out.json.tmp"});
    require_refused("gemm_bench --output /", {"--output"});
    require_refused("gemm_bench --so-far /", {"--so-far must name a file"});
}

TEST_CASE("bench: a size that exceeds memory leaves the old file as it was") {
    const Folder folder;
    const fs::path file = folder.path / "out.json";
    std::ofstream(file) << "what was there before";
    const Result r =
        run_program("gemm_bench --verify-only --sizes 32,1000000x1000000x8 --output '" + file.string() + "'");
    INFO(r.err);
    CHECK(r.status == 2);
    require_contains(r.err, " 1000000×1000000×8 ");
    CHECK(contents(file) == "what was there before");
    CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
}

TEST_CASE("bench: a wrong lesson has no figures and one for newer GPUs is skipped") {
#ifdef GEMM_CPU_DEVICE
    const std::string like = " --like sm_75";
#else
    const std::string like;
#endif
    const Result r = run_program("wrong_bench --sizes 75,64 --verify-only" + like);
    INFO(r.out << r.err);
    REQUIRE(r.status == 1);
    const Json json = Json::parse(r.out);
    REQUIRE(json.at("failed").size() == 1);
    const Json& failed = json.at("failed").at(0);
    CHECK(failed.at("lesson") == "no_k_tail");
    CHECK(failed.at("m") == 75);
    CHECK(failed.at("n") == 75);
    CHECK(failed.at("k") == 75);
    CHECK(failed.at("ran") == true);
    require_contains(failed.at("failure").get<std::string>(), k_tail());
    std::vector<std::string> runs;
    for (const Json& one : json.at("runs")) {
        runs.push_back(one.at("lesson").get<std::string>() + " " + std::to_string(one.at("k").get<int>()));
    }
    CHECK(runs == std::vector<std::string>{"03_smem 75", "03_smem 64", "no_k_tail 64"});
    REQUIRE(json.at("skipped").size() == 1);
    CHECK(json.at("skipped").at(0).at("lesson") == "modern_lesson");
    const auto reason = json.at("skipped").at(0).at("reason").get<std::string>();
    require_contains(reason, "modern_lesson ");
    require_contains(reason, json.at("device").at("name").get<std::string>());
    require_contains(r.err, reason);

    const Result right = run_program("wrong_bench --sizes 64 --lessons no_k_tail --verify-only" + like);
    CHECK(right.status == 0);
}

TEST_CASE("bench: a lesson that never ends") {
    if (test::device().sm < 90) return test::skip("mbarriers need compute capability 9.0");
#ifdef GEMM_CPU_DEVICE
    const Result r = run_program("hung_bench --sizes 64");
    INFO(r.out << r.err);
    CHECK(r.status == 1);  // the others go on
    const Json json = Json::parse(r.out);
    require_contains(json.at("failed").at(0).at("failure").get<std::string>(), "\n  mbarrier never: ");
    CHECK(json.at("runs").at(0).at("lesson") == "03_smem");
#else
    const Folder folder;
    const fs::path file = folder.path / "results.json";
    const Result r = run_program("hung_bench --sizes 64 --patience 2 --output '" + file.string() + "'");
    INFO(r.out << r.err);
    CHECK(r.status == 2);
    for (const char* const named : {"hung_lesson ", " 2 s"}) require_contains(r.err, named);
    const Json lost = Json::parse(contents(file)).at("lost");
    CHECK(lost.at("lesson") == "hung_lesson");
    CHECK(lost.at("m") == 64);
    CHECK(lost.at("ran") == true);
    // And the GPU is free again.
    CHECK(run_program("01_naive --verify-only" + std::string(kSmall)).status == 0);
#endif
}
