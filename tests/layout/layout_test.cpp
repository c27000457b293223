// Lesson 20's layouts: their laws over random ones, and what NVIDIA's CuTe makes of the same operands.
#include "20_layout_algebra/layout.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "20_layout_algebra/layout_text.hpp"
#include "common/parts/swizzle.hpp"
#include "common/ptx/fragments.hpp"
#include "tests/layout/random.hpp"
#include "tests/support.hpp"

using namespace layout;  // NOLINT: the subject

namespace {

constexpr Layout interleaved(tuple(tuple(4, 2), tuple(8, 4)), tuple(tuple(1, 16), tuple(4, 32)));
static_assert(size(interleaved) == 256 && cosize(interleaved) == 144 && rank(interleaved) == 2);
static_assert(depth(interleaved) == 2 && depth(Tree(7)) == 0 && rank(Tree(7)) == 1);
static_assert(interleaved(tuple(3, 1), tuple(2, 3)) == 3 + 16 + 8 + 96 &&
              interleaved(7, 26) == 3 + 16 + 8 + 96);
static_assert(Static<interleaved>{}(7, 26) == interleaved(7, 26));
static_assert(composition(Layout(tuple(4, 8), tuple(8, 1)), leaf(8, 2)) == Layout(tuple(2, 4), tuple(16, 1)));
static_assert(complement(leaf(4, 2), 24) == Layout(tuple(2, 3), tuple(1, 8)));
static_assert(group_modes(Layout(tuple(2, 3, 4)), 1, 3) == Layout(tuple(2, tuple(3, 4))));
static_assert(flatten(interleaved) == Layout(tuple(4, 2, 8, 4), tuple(1, 16, 4, 32)));

/// Which rule an operation broke, as text; "" if it was defined.
std::string broken(const std::function<void()>& operation) {
    try {
        operation();
    } catch (const Undefined& e) {
        return sentence(e.rule);
    }
    return "";
}

/// The function's values in colexicographic order.
template <class Function>
std::vector<Int> values(const Function& function, Int count) {
    std::vector<Int> out;
    for (Int i = 0; i < count; ++i) out.push_back(function(i));
    return out;
}

/// The first of `count` indices at which two functions differ; -1 where none. (One comparison of Catch2's
/// takes longer than a hundred offsets.)
template <class F, class G>
Int differ(Int count, const F& f, const G& g) {
    for (Int i = 0; i < count; ++i) {
        if (f(i) != g(i)) return i;
    }
    return -1;
}

constexpr int CASES = 2000;

/// What the header makes of a recorded case.
Layout computed(const std::string& op, const nlohmann::json& args) {
    const auto at = [&](int i) { return parse(args[i].get<std::string>()); };
    if (op == "coalesce") return coalesce(at(0));
    if (op == "complement") return complement(at(0), args[1].get<Int>());
    if (op == "composition") return composition(at(0), at(1));
    if (op == "right_inverse") return right_inverse(at(0));
    if (op == "left_inverse") return left_inverse(at(0));
    if (op == "logical_divide") return logical_divide(at(0), at(1));
    if (op == "logical_product") return logical_product(at(0), at(1));
    if (op == "zipped_product") return zipped_product(at(0), at(1));
    if (op == "blocked_product") return blocked_product(at(0), at(1));
    if (op == "raked_product") return raked_product(at(0), at(1));
    const Tiler tiler = parse_tiler(args[1].get<std::string>());
    if (op == "zipped_divide") return zipped_divide(at(0), tiler);
    if (op == "tiled_divide") return tiled_divide(at(0), tiler);
    if (op == "flat_divide") return flat_divide(at(0), tiler);
    FAIL("no operation " << op);
    return {};
}

// For Static<>: with modes whose offsets have no bit in common, and with some that have.
constexpr Layout apart(tuple(tuple(16, 2, 2, 2), 4, 2), tuple(tuple(32, 8, 0, 2048), 512, 16));
constexpr Layout meeting(tuple(tuple(5, 3), 4), tuple(tuple(7, 40), 24));

/// The first (i, j, k) at which a layout as a type is not what the same is as a value; -1 where none.
template <class Type, class Value>
Int differ_by_mode(const Layout& shape, const Type& type, const Value& value) {
    for (int i = 0; i < size(mode(shape, 0)); ++i) {
        for (int j = 0; j < size(mode(shape, 1)); ++j) {
            if (rank(shape) == 2) {
                if constexpr (Type::rank == 2) {
                    if (type(i, j) != value(i, j)) return i;
                }
                continue;
            }
            for (int k = 0; k < size(mode(shape, 2)); ++k) {
                if constexpr (Type::rank == 3) {
                    if (type(i, j, k) != value(i, j, k)) return i;
                }
            }
        }
    }
    return -1;
}

}  // namespace

TEST_CASE("layout: a layout of constants, as a type, is the same function") {
    const Static<apart> plain{};
    const Static<apart, 2, 3, 3> swizzled{};
    const Static<meeting> odd{};
    const Static<meeting, 2, 0, 3> odd_swizzled{};
    CHECK(differ_by_mode(apart, plain, apart) == -1);
    CHECK(differ_by_mode(apart, swizzled, composition(Swizzle{2, 3, 3}, apart)) == -1);
    CHECK(differ_by_mode(meeting, odd, meeting) == -1);
    CHECK(differ_by_mode(meeting, odd_swizzled, composition(Swizzle{2, 0, 3}, meeting)) == -1);
    CHECK(differ_by_mode(apart, swizzled, apart) >= 0);  // that it can differ
}

TEST_CASE("layout: CuTe's results, all of them recorded") {
    std::ifstream file(std::string(GEMM_SOURCE_DIR) + "/tests/recorded/cute_layouts.json");
    const auto recorded = nlohmann::json::parse(file);
    REQUIRE(recorded["cases"].size() == 894);
    for (const auto& c : recorded["cases"]) {
        const std::string op = c["op"];
        INFO(c.dump());
        const std::vector<Int> expected = c["values"];
        if (op == "swizzle") {
            const std::string name = c["args"][0];
            Swizzle s;
            REQUIRE(std::sscanf(name.c_str(), "Swizzle<%d,%d,%d>", &s.bits, &s.base, &s.shift) == 3);
            const Swizzled swizzled = composition(s, parse(c["args"][1].get<std::string>()));
            CHECK(values(swizzled, static_cast<Int>(expected.size())) == expected);
            continue;
        }
        Layout result;
        CHECK(broken([&] { result = computed(op, c["args"]); }) == "");
        CHECK(text(result) == c["result"].get<std::string>());
        CHECK(values(result, static_cast<Int>(expected.size())) == expected);
    }
}

TEST_CASE("layout: coalesce, flatten and grouping leave the function alone") {
    test::RandomLayouts random{std::mt19937(static_cast<unsigned>(test::seed()))};
    for (int n = 0; n < CASES; ++n) {
        const Layout a = random.any();
        INFO(text(a));
        const auto same = values(a, size(a));
        CHECK(values(coalesce(a), size(a)) == same);
        CHECK(values(flatten(a), size(a)) == same);
        CHECK(values(group_modes(make_layout(a, leaf(2, 0)), 0, 1), size(a)) == same);
        CHECK(coalesce(coalesce(a)) == coalesce(a));
        CHECK(depth(coalesce(a)) <= 1);
        CHECK(parse(text(a)) == a);
        CHECK(differ(
                  size(a), [&](Int i) { return a(idx2crd(i, a.shape)); }, a) == -1);
    }
}

TEST_CASE("layout: composition is A(B(i)), associative, and has an identity") {
    test::RandomLayouts random{std::mt19937(static_cast<unsigned>(test::seed()))};
    int defined = 0;
    for (int n = 0; n < CASES; ++n) {
        const Layout a = random.any(), b = random.any(), c = random.any();
        INFO(text(a) << " o " << text(b) << " o " << text(c));
        const Layout identity = leaf(size(a), 1);
        CHECK(values(composition(a, identity), size(a)) == values(a, size(a)));
        Layout ab, ab_c, bc, a_bc;
        if (!broken([&] { ab = composition(a, b), complement(b); }).empty()) continue;
        CHECK(congruent(coalesce(ab).shape, coalesce(ab).stride));
        REQUIRE(differ(size(b), ab, [&](Int i) { return a(b(i)); }) == -1);
        if (!broken([&] {
                 ab_c = composition(ab, c), bc = composition(b, c), a_bc = composition(a, bc), complement(c),
                 complement(bc);
             }).empty())
            continue;
        // Past B's last extent B and A∘B go on each in its own way.
        if (cosize(c) > size(b)) continue;
        ++defined;
        REQUIRE(differ(size(c), ab_c, a_bc) == -1);
    }
    CHECK(defined > CASES / 20);
}

TEST_CASE("layout: a composition that is not A(B(i)) breaks a rule, and says where it differs") {
    test::RandomLayouts random{std::mt19937(static_cast<unsigned>(test::seed()))};
    int kept = 0, inexact = 0;
    for (int n = 0; n < 4 * CASES; ++n) {
        const Layout a = random.odd(), b = random.odd();
        INFO(text(a) << " o " << text(b));
        Layout r;
        if (!broken([&] { r = composition(a, b); }).empty()) continue;
        const Rule rule = composition_rule(a, b);
        const Int at = composition_differs_at(a, b);
        kept += rule == Rule::none;
        inexact += at >= 0;
        if (rule == Rule::none) REQUIRE(at == -1);
        REQUIRE(differ(size(b), r, [&](Int i) { return a(b(i)); }) == at);
    }
    CHECK(kept > CASES / 20);
    CHECK(inexact > CASES / 20);
    // 8 elements at a distance of 4 in rows of 6: the second row's first is at 2, not at 4.
    const Layout rows(tuple(6, 4), tuple(4, 1));
    CHECK(composition_rule(rows, leaf(8, 4)) == Rule::stride_divides);
    CHECK(composition_differs_at(rows, leaf(8, 4)) == 2);
    CHECK(!composition_is_exact(rows, leaf(8, 4)));
    // Two modes of stride 1: 3 + 3 is 6, of which (4,4):(4,1) has digits 2 and 1, and not twice 3 and 0.
    const Layout square(tuple(4, 4), tuple(4, 1)), twice(tuple(4, 4), tuple(1, 1));
    CHECK(composition_rule(square, twice) == Rule::modes_carry);
    CHECK(composition_differs_at(square, twice) == 7);
    CHECK(composition_is_exact(square, leaf(4, 4)));
}

TEST_CASE("layout: a complement fills what is free, once") {
    test::RandomLayouts random{std::mt19937(static_cast<unsigned>(test::seed()))};
    for (int n = 0; n < CASES; ++n) {
        const Layout a = random.compact();
        // Every offset doubled or more, so that there are gaps.
        Layout spread = a;
        for (int i = 0; i < a.stride.leaves; ++i) spread.stride.value[i] *= Int{1} << (n % 3);
        const Int limit = size(a) * (1 + n % 5) * (Int{1} << (n % 3));
        INFO(text(spread) << " in " << limit);
        const Layout both = make_layout(spread, complement(spread, limit));
        const std::vector<Int> all = values(both, size(both));
        CHECK(size(both) == limit);
        CHECK(std::set<Int>(all.begin(), all.end()).size() == all.size());
        CHECK(cosize(both) == limit);
    }
    CHECK(broken([] { complement(Layout(tuple(4, 4), tuple(1, 2)), 16); }) ==
          sentence(Rule::complement_disjoint));
    CHECK(broken([] { composition(Layout(tuple(4, 4), tuple(4, 1)), leaf(6, 1)); }) ==
          sentence(Rule::shape_divides));
    CHECK(broken([] { left_inverse(Layout(tuple(4, 4), tuple(1, 2))); }) == sentence(Rule::inverse_ordered));
}

TEST_CASE("layout: inverses, divisions and products of compact layouts") {
    test::RandomLayouts random{std::mt19937(static_cast<unsigned>(test::seed()))};
    for (int n = 0; n < CASES; ++n) {
        const Layout a = random.compact();
        INFO(text(a));
        const Layout right = right_inverse(a), left = left_inverse(a);
        const auto same = [](Int i) { return i; };
        REQUIRE(differ(
                    size(a), [&](Int i) { return a(right(i)); }, same) == -1);
        REQUIRE(differ(
                    size(a), [&](Int i) { return left(a(i)); }, same) == -1);
        const Int extent = Int{1} << random.below(3);
        if (size(a) % extent != 0) continue;
        const Layout parts = logical_divide(a, leaf(extent, 1));
        REQUIRE(values(parts, size(a)) == values(a, size(a)));
        // A product divided by its block gives the block back.
        const Layout product = logical_product(a, leaf(extent, 1));
        REQUIRE(size(product) == size(a) * extent);
        const Layout back = logical_divide(product, leaf(size(a), 1));
        REQUIRE(values(mode(back, 0), size(a)) == values(a, size(a)));
    }
}

TEST_CASE("layout: a malformed text says at which character") {
    const std::pair<const char*, std::size_t> wrong[] = {{"", 0},
                                                         {"(4,", 3},
                                                         {"(4,2", 4},
                                                         {"4:x", 2},
                                                         {"(4,2):8", 6},
                                                         {"4:1)", 3},
                                                         {"(4,0):(1,4)", 0},
                                                         {"4::1", 2},
                                                         {"65536,65536", 5},
                                                         {"(65536,65536):(1,1)", 0},
                                                         {"(2,2):(1,2147483648)", 6}};
    for (const auto& [bad, at] : wrong) {
        INFO(bad);
        try {
            parse(bad);
            FAIL("it was read");
        } catch (const Malformed& e) {
            CHECK(e.position == at);
        }
    }
}

TEST_CASE("layout: mma.sync's fragments, ldmatrix's rows and 09b's swizzles are layouts") {
    // Offsets in a 16×16 (or 16×8) tile, column-major: row + 16·col. Coordinates: lane, then element.
    const Layout a(tuple(tuple(4, 8), tuple(2, 2, 2)), tuple(tuple(32, 1), tuple(16, 8, 128)));
    const Layout c(tuple(tuple(4, 8), tuple(2, 2)), tuple(tuple(32, 1), tuple(16, 8)));
    const Layout b(tuple(tuple(4, 8), tuple(2, 2)), tuple(tuple(2, 16), tuple(1, 8)));  // of 16×8: k + 16·col
    const Layout rows(tuple(16, 2), tuple(1, 128));
    for (int lane = 0; lane < 32; ++lane) {
        const gemm::ptx::Position row = gemm::ptx::ldmatrix_row(lane);
        CHECK(rows(lane) == row.row + 16 * row.col);
        for (int i = 0; i < 8; ++i) {
            const gemm::ptx::Position at = gemm::ptx::fragment_a(lane, i / 2, i % 2);
            CHECK(a(lane, i) == at.row + 16 * at.col);
        }
        for (int i = 0; i < 4; ++i) {
            const gemm::ptx::Position at = gemm::ptx::fragment_b(lane, i / 2, i % 2),
                                      in = gemm::ptx::fragment_c(lane, i);
            CHECK(b(lane, i) == at.row + 16 * at.col);
            CHECK(c(lane, i) == in.row + 16 * in.col);
        }
    }
    CHECK(differ(4096, Swizzle{2, 3, 3}, gemm::Swizzle<2, 3, 3>::apply) == -1);
    CHECK(differ(4096, Swizzle{3, 3, 4}, gemm::Swizzle<3, 3, 4>::apply) == -1);
    // The 128-, 64- and 32-byte modes: in bytes Swizzle<B,4,3>, in elements of 2 bytes Swizzle<B,3,3>.
    for (int bits = 1; bits <= 3; ++bits) {
        const Swizzle bytes{bits, 4, 3}, elements{bits, 3, 3};
        CHECK(differ(
                  4096, [&](Int i) { return bytes(2 * i); }, [&](Int i) { return 2 * elements(i); }) == -1);
    }
}

TEST_CASE("layout: tiles, partitions and other element types") {
    std::vector<int> memory(64 * 32);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int>(i);
    const Tensor<int> matrix{memory.data(), Layout(tuple(64, 32), tuple(32, 1))};
    const Tensor<int> tile = local_tile(matrix, Tiler(tuple(16, 8)), tuple(2, 3));
    for (int row = 0; row < 16; ++row) {
        for (int col = 0; col < 8; ++col) CHECK(tile(row, col) == (32 + row) * 32 + 24 + col);
    }
    const Layout threads(tuple(8, 4), tuple(4, 1));
    std::set<int> met;
    for (int t = 0; t < 32; ++t) {
        const Tensor<int> mine = local_partition(tile, threads, t);
        REQUIRE(size(mine.layout) == 4);
        CHECK(mine(0, 0) == tile(t / 4, t % 4));
        for (int i = 0; i < 4; ++i) met.insert(mine(i % 2, i / 2));
    }
    CHECK(met.size() == 128);
    CHECK(text(recast(Layout(tuple(8, 4), tuple(1, 8)), 16, 32)) == "(4,4):(1,4)");
    CHECK(text(recast(Layout(tuple(8, 4), tuple(1, 8)), 16, 8)) == "(16,4):(1,16)");
    CHECK(broken([] { recast(Layout(tuple(3, 4), tuple(1, 3)), 16, 32); }) == sentence(Rule::recast_divides));
}
