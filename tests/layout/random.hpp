// Layouts drawn for the tests of lesson 20's laws.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "20_layout_algebra/layout.hpp"

namespace test {

using layout::Int, layout::Layout, layout::Tree;

struct RandomLayouts {
    std::mt19937 engine;
    Int below(Int n) { return static_cast<Int>(engine() % static_cast<unsigned>(n)); }
    /// At most 512 elements, nested twice.
    Tree shape() {
        for (;;) {
            const Tree drawn = nested(2);
            if (size(drawn) <= 512) return drawn;
        }
    }
    Tree nested(int levels) {
        if (levels == 0 || below(3) == 0) return {Int{1} << below(4)};
        Tree out;
        for (Int i = 0, n = 1 + below(3); i < n; ++i) append(out, nested(levels - 1));
        wrap(out);
        return out;
    }
    /// Extents of 1 to 6 and strides of 0 to 11: hardly anything divides anything.
    Layout odd() {
        Tree extents, steps;
        for (Int i = 0, n = 1 + below(3); i < n; ++i) {
            append(extents, Tree(1 + below(6)));
            append(steps, Tree(below(12)));
        }
        wrap(extents);
        wrap(steps);
        return {extents, steps};
    }
    /// Strides of powers of two, any of them the same: a function, not always one to one.
    Layout any() {
        const Tree extents = shape();
        Tree steps = extents;
        for (int i = 0; i < steps.leaves; ++i) steps.value[i] = below(8) == 0 ? 0 : Int{1} << below(7);
        return {extents, steps};
    }
    /// A compact layout with its leaves in any order: one to one, onto 0 … size - 1.
    Layout compact() {
        const Tree extents = shape();
        Tree steps = extents;
        std::vector<int> order;
        for (int i = 0; i < extents.leaves; ++i) order.push_back(i);
        std::shuffle(order.begin(), order.end(), engine);
        Int next = 1;
        for (const int i : order) {
            steps.value[i] = next;
            next *= extents.value[i];
        }
        return {extents, steps};
    }
};

}  // namespace test
