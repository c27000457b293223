// The programs beside the lessons, run as a user runs them.
#include <string>

#include "tests/process.hpp"
#include "tests/support.hpp"

using test::require_contains;
using test::Result;
using test::run_program;

TEST_CASE("first: lesson 01's whole program multiplies and checks") {
    const Result r = run_program("01_first");
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(r.out == "right: all 7000 elements of C are the host's\n");
    CHECK(r.err.empty());
}

TEST_CASE("stream: verifies what it reads, and times on a GPU alone") {
    const bool times = test::device().kind == "cuda";
    for (const char* options : {"", " --blocks 2 --elements 1", " --blocks 3 --elements 7"}) {
        const Result r = run_program("08_stream" + std::string(options));
        INFO(r.out << r.err);
        REQUIRE(r.status == 0);
        REQUIRE(r.err.empty());
        require_contains(r.out, "08_stream on " + test::device().name);
        require_contains(r.out, "right: all sums are the host's");
        CHECK((r.out.find("GB/s") != std::string::npos) == times);
    }
}

TEST_CASE("stream: --help and wrong options") {
    const Result help = run_program("08_stream --help");
    REQUIRE(help.status == 0);
    for (const char* word : {"--blocks", "--elements", "--device"}) require_contains(help.out, word);
    for (const char* options : {" --elements 0", " --blocks -1", " --elements x", " --nonsense"}) {
        const Result r = run_program("08_stream" + std::string(options));
        INFO(options << "\n" << r.out << r.err);
        CHECK(r.status == 2);
        CHECK(r.out.empty());
        require_contains(r.err, "08_stream: ");
    }
}
