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

TEST_CASE("one_mma: a warp multiplies one tile, checks it, and says who holds which element") {
    const Result r = run_program("09b_one_mma");
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    for (const char* line :
         {"\n  0   -5   32   51   52   35    0  -53  -52     0:0   0:1   1:0   1:1   2:0   2:1   3:0   3:1\n",
          "\n  1  -78  -22   16   36   38   22  -12   -1     4:0   4:1   5:0   5:1   6:0   6:1   7:0   7:1\n",
          "\n  8    6   42   60   60   42    6  -48 -120     0:2   0:3   1:2   1:3   2:2   2:3   3:2   3:3\n",
          "\n 15   22   38   36   16  -22  -78    1   -1    28:2  28:3  29:2  29:3  30:2  30:3  31:2  31:3\n",
          "\nright: all 128 elements of C are the host's\n"}) {
        require_contains(r.out, line);
    }
    CHECK(r.err.empty());
}

TEST_CASE("one_box: a copy brings a box, with zeros beyond the matrix's edge") {
    const Result r = run_program("10_one_box");
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(r.err.empty());
    if (test::device().sm < 90) return require_contains(r.out, "has no TMA");
    CHECK(r.out ==
          "  33  34  35  36   0   0   0   0\n"
          "  45  46  47  48   0   0   0   0\n"
          "  57  58  59  60   0   0   0   0\n"
          "   0   0   0   0   0   0   0   0\n"
          "right: zeros where the box hangs over the edge\n");
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
