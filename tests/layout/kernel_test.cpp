// The operations that lesson 20's kernel.cu writes itself, for layouts that divide evenly: held against
// layout.hpp's, which are for all. Some of their lines matter to no layout of the kernel, so that no run of
// it tells whether they are right.
#include <random>

#include "20_layout_algebra/layout.hpp"
#include "20_layout_algebra/layout_text.hpp"
#include "tests/layout/random.hpp"
#include "tests/support.hpp"

namespace kernel {

using layout::Int, layout::Layout, layout::leaf, layout::make_layout, layout::mode, layout::size;

#include "lesson_20_algebra.inc"

}  // namespace kernel

using namespace layout;  // NOLINT: the subject

namespace {

constexpr int CASES = 2000;

/// The first index at which one of two functions is not what the other is; -1 where none.
template <class F, class G>
Int differ(Int count, const F& f, const G& g) {
    for (Int i = 0; i < count; ++i) {
        if (f(i) != g(i)) return i;
    }
    return -1;
}

/// Leaves whose strides ascend, each a multiple of where the one before ends; the end of the last.
struct Ascending {
    Layout layout;
    Int end = 1;
};
Ascending ascending(test::RandomLayouts& random) {
    Ascending drawn;
    for (Int i = 0, n = 1 + random.below(3); i < n; ++i) {
        const Int extent = 1 + random.below(4), step = drawn.end * (1 + random.below(3));
        append(drawn.layout, leaf(extent, step));
        drawn.end = extent * step;
    }
    drawn.layout = closed(drawn.layout, leaf(1, 0));
    return drawn;
}

}  // namespace

TEST_CASE("layout: lesson 20's kernel composes as the header does") {
    test::RandomLayouts random{std::mt19937(static_cast<unsigned>(test::seed()))};
    int composed = 0;
    for (int drawn = 0; composed < CASES; ++drawn) {
        REQUIRE(drawn < 100 * CASES);
        const Layout a = random.any(), b = random.any();
        if (cosize(b) > size(a) || composition_rule(a, b) != Rule::none) continue;
        ++composed;
        const Layout mine = kernel::compose(a, b), header = composition(a, b);
        INFO(text(a) << " and " << text(b) << ": " << text(mine) << ", " << text(header));
        if (is_tuple(b.shape)) {
            for (int i = 0; i < rank(b); ++i) REQUIRE(size(mode(mine, i)) == size(mode(b, i)));
        }
        REQUIRE(differ(size(b), mine, header) == -1);
        REQUIRE(differ(size(b), mine, [&](Int i) { return a(b(i)); }) == -1);
    }
}

TEST_CASE("layout: lesson 20's kernel fills what a tile leaves as the header does") {
    test::RandomLayouts random{std::mt19937(static_cast<unsigned>(test::seed()))};
    for (int i = 0; i < CASES; ++i) {
        const Ascending b = ascending(random);
        const Int limit = b.end * (1 + random.below(5));
        INFO(text(b.layout) << " in " << limit);
        REQUIRE(text(kernel::complement_in(b.layout, limit)) == text(complement(b.layout, limit)));
    }
}

TEST_CASE("layout: lesson 20's kernel divides as the header does") {
    test::RandomLayouts random{std::mt19937(static_cast<unsigned>(test::seed()))};
    for (int i = 0; i < CASES; ++i) {
        const Layout y = random.any(), x = random.any(), both = make_layout(y, x);
        if (both.shape.leaves > 8) continue;
        Int rows = 1, cols = 1;
        while (rows < size(y) && random.below(2) == 0) rows *= 2;
        while (cols < size(x) && random.below(2) == 0) cols *= 2;
        const Layout mine = kernel::tiled(both, rows, cols);
        const Layout header = zipped_divide(both, Tiler(tuple(rows, cols)));
        INFO(text(both) << " in " << rows << "x" << cols << ": " << text(mine) << ", " << text(header));
        for (const int part : {0, 1}) {
            REQUIRE(size(mode(mine, part)) == size(mode(header, part)));
            REQUIRE(differ(size(mode(mine, part)), mode(mine, part), mode(header, part)) == -1);
        }
    }
}
