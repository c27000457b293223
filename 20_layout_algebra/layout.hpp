// A layout is a function from coordinates to offsets, written shape:stride. Everything else here follows from
// that: a division, a product, a partition among threads are compositions of such functions. Names and
// meanings are CuTe's (the left-most mode is the fastest); the definitions that the code follows stand at
// each operation.
//
// One implementation serves three uses. As a run-time value a Layout comes from a text (./gemm layout); as a
// constexpr value its numbers are known at compile time (static integers); and Static<LAYOUT> is the second
// as a type, whose offsets a kernel computes with nothing but constants and the coordinate. Host and device,
// C++17.
//
// An operation that is not defined for its operands says which rule fails: it throws Undefined, in a constant
// expression it does not compile, and on a GPU it traps.
#pragma once

#include <cstdint>

#if defined(__CUDACC__) || defined(__CUDA_ARCH__)
#define LAYOUT_BOTH __host__ __device__
#else
#define LAYOUT_BOTH  // g++ alone: the same functions
#endif

namespace layout {

using Int = std::int64_t;

enum class Rule {
    none,            // nothing fails
    capacity,        // more than MAX_LEAVES numbers, or a coordinate, mode or argument that does not exist
    congruent,       // shape and stride are nested alike
    positive,        // an extent is at least 1, and no stride is negative
    stride_divides,  // composition is A(B(i)): a stride of B divides the extent of A's mode that it steps in,
                     // or is its multiple
    modes_carry,     // composition is A(B(i)): what B's modes add up to stays within each extent of A
    shape_divides,   // composition: an extent of B fills A's mode a whole number of times
    complement_disjoint,  // complement: no two coordinates have the same offset; each stride is a multiple of
                          // what lies below
    inverse_ordered,  // left_inverse: each stride is a multiple of the one below, and modes do not overlap
    tiler_rank,       // a tiler has no more modes than what it divides
    recast_divides,   // recast: a stride and an extent hold whole elements of the new type
};

/// The sentence that belongs to a rule.
constexpr const char* sentence(Rule rule) {
    switch (rule) {
        case Rule::none:
            return "";
        case Rule::capacity:
            return "a layout has at most 32 numbers, and only its own modes";
        case Rule::congruent:
            return "shape and stride must be nested alike";
        case Rule::positive:
            return "an extent must be at least 1, and a stride at least 0";
        case Rule::stride_divides:
            return "composition: the right layout's stride must divide the left mode's extent, or be a "
                   "multiple of it, or the result is not A(B(i))";
        case Rule::modes_carry:
            return "composition: the right layout's modes must add up to no more than each of the left one's "
                   "extents holds, or the result is not A(B(i))";
        case Rule::shape_divides:
            return "composition: the right layout's extent must fill the left mode a whole number of times";
        case Rule::complement_disjoint:
            return "complement: each stride must be a multiple of the extent times the stride of the mode "
                   "below it";
        case Rule::inverse_ordered:
            return "left_inverse: each stride must be a multiple of the one below it, and no smaller than "
                   "that mode's end";
        case Rule::tiler_rank:
            return "a tiler must not have more modes than the layout";
        case Rule::recast_divides:
            return "recast: strides and extents must hold whole elements of the new type";
    }
    return "";
}

struct Undefined {
    Rule rule;
};

LAYOUT_BOTH constexpr void require(bool holds, Rule rule) {
    if (holds) return;
#ifdef __CUDA_ARCH__
    (void)rule;
    __trap();
#else
    throw Undefined{rule};
#endif
}

constexpr int MAX_LEAVES = 32;

/// Integers, nested in parentheses: a shape, a stride or a coordinate. Each integer (leaf) carries how many
/// parentheses open before it and close after it: 7 has none, (2,(3,4)) has 1, 1, 0 and 0, 0, 2.
struct Tree {
    Int value[MAX_LEAVES] = {};
    int opens[MAX_LEAVES] = {}, closes[MAX_LEAVES] = {};
    int leaves = 0;

    constexpr Tree() = default;
    LAYOUT_BOTH constexpr Tree(Int leaf) : leaves(1) { value[0] = leaf; }  // NOLINT: an integer is a tree
};

/// The leaves [begin, end) of a tree.
struct Range {
    int begin, end;
};

LAYOUT_BOTH constexpr bool is_tuple(const Tree& tree) {
    return tree.opens[0] > 0;
}

/// The number of modes: 1 of an integer, else of what the outermost parentheses hold.
LAYOUT_BOTH constexpr int rank(const Tree& tree) {
    if (!is_tuple(tree)) return 1;
    int modes = 0, open = 0;
    for (int i = 0; i < tree.leaves; ++i) {
        modes += open == 0 || open == 1;
        open += tree.opens[i] - tree.closes[i];
    }
    return modes;
}

/// How deep the parentheses go: 0 of an integer.
LAYOUT_BOTH constexpr int depth(const Tree& tree) {
    int open = 0, most = 0;
    for (int i = 0; i < tree.leaves; ++i) {
        open += tree.opens[i];
        most = open > most ? open : most;
        open -= tree.closes[i];
    }
    return most;
}

LAYOUT_BOTH constexpr Range mode_range(const Tree& tree, int mode) {
    require(mode >= 0 && mode < rank(tree), Rule::capacity);
    if (!is_tuple(tree)) return {0, tree.leaves};
    int open = 0, met = -1, begin = 0;
    for (int i = 0; i < tree.leaves; ++i) {
        if (open <= 1 && ++met == mode) begin = i;
        open += tree.opens[i] - tree.closes[i];
        if (open <= 1 && met == mode) return {begin, i + 1};
    }
    return {0, 0};
}

/// The product of all extents.
LAYOUT_BOTH constexpr Int size(const Tree& shape) {
    Int product = 1;
    for (int i = 0; i < shape.leaves; ++i) product *= shape.value[i];
    return product;
}

/// One mode of a tree, without the parentheses around all of them.
LAYOUT_BOTH constexpr Tree mode(const Tree& tree, int which) {
    const Range range = mode_range(tree, which);
    Tree part;
    for (int i = range.begin; i < range.end; ++i, ++part.leaves) {
        part.value[part.leaves] = tree.value[i];
        part.opens[part.leaves] = tree.opens[i] - (is_tuple(tree) && i == 0);
        part.closes[part.leaves] = tree.closes[i] - (is_tuple(tree) && i == tree.leaves - 1);
    }
    return part;
}

/// Makes `tree` longer by another one's leaves. wrap() puts parentheses around all of them.
LAYOUT_BOTH constexpr void append(Tree& tree, const Tree& more) {
    require(tree.leaves + more.leaves <= MAX_LEAVES, Rule::capacity);
    for (int i = 0; i < more.leaves; ++i, ++tree.leaves) {
        tree.value[tree.leaves] = more.value[i];
        tree.opens[tree.leaves] = more.opens[i];
        tree.closes[tree.leaves] = more.closes[i];
    }
}
LAYOUT_BOTH constexpr void wrap(Tree& tree) {
    require(tree.leaves > 0, Rule::capacity);
    ++tree.opens[0];
    ++tree.closes[tree.leaves - 1];
}

/// tuple(2, tuple(3, 4)) is (2,(3,4)).
template <class... Modes>
LAYOUT_BOTH constexpr Tree tuple(const Modes&... modes) {
    Tree tree;
    (append(tree, Tree(modes)), ...);
    wrap(tree);
    return tree;
}

LAYOUT_BOTH constexpr bool congruent(const Tree& a, const Tree& b) {
    if (a.leaves != b.leaves) return false;
    for (int i = 0; i < a.leaves; ++i) {
        if (a.opens[i] != b.opens[i] || a.closes[i] != b.closes[i]) return false;
    }
    return true;
}
LAYOUT_BOTH constexpr bool operator==(const Tree& a, const Tree& b) {
    if (!congruent(a, b)) return false;
    for (int i = 0; i < a.leaves; ++i) {
        if (a.value[i] != b.value[i]) return false;
    }
    return true;
}
LAYOUT_BOTH constexpr bool operator!=(const Tree& a, const Tree& b) {
    return !(a == b);
}

/// The coordinate of an index: its digits, the left-most the fastest, each of its extent; the last takes what
/// is left.
LAYOUT_BOTH constexpr Tree idx2crd(Int index, const Tree& shape) {
    Tree coordinate = shape;
    for (int i = 0; i < shape.leaves; ++i) {
        const bool last = i == shape.leaves - 1;
        coordinate.value[i] = last ? index : index % shape.value[i];
        if (!last) index /= shape.value[i];
    }
    return coordinate;
}

/// The offset of a coordinate: of each leaf, or of each mode, or of the whole, whichever it has.
LAYOUT_BOTH constexpr Int crd2idx(const Tree& coordinate, const Tree& shape, const Tree& stride) {
    if (!is_tuple(coordinate)) {
        const Tree digits = idx2crd(coordinate.value[0], shape);
        Int offset = 0;
        for (int i = 0; i < shape.leaves; ++i) offset += digits.value[i] * stride.value[i];
        return offset;
    }
    require(is_tuple(shape) && rank(coordinate) == rank(shape), Rule::congruent);
    Int offset = 0;
    for (int i = 0; i < rank(shape); ++i) {
        offset += crd2idx(mode(coordinate, i), mode(shape, i), mode(stride, i));
    }
    return offset;
}

/// The strides of a compact layout, left-most fastest; 0 for an extent of 1, where no step is ever taken.
LAYOUT_BOTH constexpr Tree compact_col_major(const Tree& shape) {
    Tree stride = shape;
    Int next = 1;
    for (int i = 0; i < shape.leaves; ++i) {
        stride.value[i] = shape.value[i] == 1 ? 0 : next;
        next *= shape.value[i];
    }
    return stride;
}

struct Layout {
    Tree shape, stride;

    constexpr Layout() = default;
    LAYOUT_BOTH constexpr Layout(const Tree& extents, const Tree& steps) : shape(extents), stride(steps) {
        require(congruent(shape, stride), Rule::congruent);
        for (int i = 0; i < shape.leaves; ++i) {
            require(shape.value[i] > 0 && stride.value[i] >= 0, Rule::positive);
        }
    }
    LAYOUT_BOTH explicit constexpr Layout(const Tree& extents)
        : Layout(extents, compact_col_major(extents)) {}

    /// layout(i) of an index, layout(i, j) of one coordinate a mode; each may be a tuple itself.
    LAYOUT_BOTH constexpr Int operator()(const Tree& coordinate) const {
        return crd2idx(coordinate, shape, stride);
    }
    template <class... More>
    LAYOUT_BOTH constexpr Int operator()(const Tree& first, const Tree& second, const More&... more) const {
        return crd2idx(tuple(first, second, more...), shape, stride);
    }
};

LAYOUT_BOTH constexpr bool operator==(const Layout& a, const Layout& b) {
    return a.shape == b.shape && a.stride == b.stride;
}
LAYOUT_BOTH constexpr bool operator!=(const Layout& a, const Layout& b) {
    return !(a == b);
}
LAYOUT_BOTH constexpr Int size(const Layout& a) {
    return size(a.shape);
}
LAYOUT_BOTH constexpr int rank(const Layout& a) {
    return rank(a.shape);
}
LAYOUT_BOTH constexpr int depth(const Layout& a) {
    return depth(a.shape);
}
LAYOUT_BOTH constexpr Layout mode(const Layout& a, int which) {
    return {mode(a.shape, which), mode(a.stride, which)};
}
/// Mode `inner` of mode `which`.
LAYOUT_BOTH constexpr Layout mode(const Layout& a, int which, int inner) {
    return mode(mode(a, which), inner);
}

/// One more than the largest offset.
LAYOUT_BOTH constexpr Int cosize(const Layout& a) {
    Int last = 0;
    for (int i = 0; i < a.shape.leaves; ++i) last += (a.shape.value[i] - 1) * a.stride.value[i];
    return last + 1;
}

LAYOUT_BOTH constexpr void append(Layout& a, const Layout& more) {
    append(a.shape, more.shape);
    append(a.stride, more.stride);
}
LAYOUT_BOTH constexpr void wrap(Layout& a) {
    wrap(a.shape);
    wrap(a.stride);
}
LAYOUT_BOTH constexpr Layout leaf(Int extent, Int step) {
    return {Tree(extent), Tree(step)};
}
LAYOUT_BOTH constexpr Layout leaf(const Layout& a, int i) {
    return leaf(a.shape.value[i], a.stride.value[i]);
}

/// The layout whose modes these are.
template <class... Modes>
LAYOUT_BOTH constexpr Layout make_layout(const Layout& first, const Modes&... modes) {
    Layout all = first;
    (append(all, modes), ...);
    wrap(all);
    return all;
}

/// Leaves that were appended one by one: an integer where there is one, else a tuple. `none` where there is
/// none.
LAYOUT_BOTH constexpr Layout closed(Layout leaves, const Layout& none) {
    if (leaves.shape.leaves == 0) return none;
    if (leaves.shape.leaves > 1) wrap(leaves);
    return leaves;
}

/// The same function without inner parentheses.
LAYOUT_BOTH constexpr Layout flatten(const Layout& a) {
    Layout flat;
    for (int i = 0; i < a.shape.leaves; ++i) append(flat, leaf(a, i));
    return closed(flat, flat);
}

/// The modes [begin, end) become one mode of their own.
LAYOUT_BOTH constexpr Layout group_modes(const Layout& a, int begin, int end) {
    require(0 <= begin && begin < end && end <= rank(a), Rule::capacity);
    Layout all, group;
    for (int i = 0; i < rank(a); ++i) {
        append(begin <= i && i < end ? group : all, mode(a, i));
        if (i != end - 1) continue;
        wrap(group);
        append(all, group);
    }
    wrap(all);
    return all;
}

/// The leaves of extent > 1, each joined with the one before where it continues it (stride = extent·stride of
/// that one).
LAYOUT_BOTH constexpr Layout coalesced_leaves(const Layout& a) {
    Layout out;
    for (int i = 0; i < a.shape.leaves; ++i) {
        const Int extent = a.shape.value[i], step = a.stride.value[i];
        const int last = out.shape.leaves - 1;
        if (extent == 1) continue;
        if (last >= 0 && out.shape.value[last] * out.stride.value[last] == step) {
            out.shape.value[last] *= extent;
        } else {
            append(out, leaf(extent, step));
        }
    }
    return out;
}

/// The same function of an index with the fewest leaves.
LAYOUT_BOTH constexpr Layout coalesce(const Layout& a) {
    return closed(coalesced_leaves(a), leaf(1, 0));
}

LAYOUT_BOTH constexpr Int ceil_div(Int a, Int b) {
    return (a + b - 1) / b;
}

/// What a composition finds out about A's digits: the highest that each comes to, and whether B's steps
/// divide them.
struct Digits {
    Int highest[MAX_LEAVES] = {};
    bool divides = true;
};

/// What a leaf b = extent:step of B makes of A. `a` is flat; its last mode goes on past its extent, as it
/// does in A(i). An index i·step is written in A's digits. A digit whose extent the step is a multiple of
/// stays 0; then the digits that b runs through are used up one after the other. A step that does not divide
/// a digit's extent would carry from it into the next: there steps are rounded up, as CuTe does it, and the
/// result is not A(b(i)).
LAYOUT_BOTH constexpr Layout compose_leaf(const Layout& a, Int extent, Int step, Digits& digits) {
    if (step == 0) return leaf(extent, 0);
    Layout out;
    const int last = a.shape.leaves - 1;
    for (int i = 0; i < last; ++i) {
        const Int available = a.shape.value[i];
        const Int taken = ceil_div(available, step);  // values that this digit has for b
        if (extent > 1 && taken == 1 && step % available != 0) digits.divides = false;
        if (extent > 1 && taken > 1) {
            if (extent > taken && available % step != 0) digits.divides = false;
            require(extent <= taken || extent % taken == 0, Rule::shape_divides);
            const Int used = extent < taken ? extent : taken;
            digits.highest[i] += (used - 1) * step;
            append(out, leaf(used, step * a.stride.value[i]));
            extent /= used;
        }
        step = ceil_div(step, available);
    }
    if (extent > 1 || out.shape.leaves == 0) append(out, leaf(extent, step * a.stride.value[last]));
    return closed(out, out);
}

/// What compose_leaf() takes: coalesced, but with the step of A's last mode, past which an index may go.
LAYOUT_BOTH constexpr Layout unbounded(const Layout& a) {
    Layout open = a;
    const int last = a.shape.leaves - 1;
    if (open.shape.value[last] == 1) open.shape.value[last] = 2;
    return coalesced_leaves(open);
}

LAYOUT_BOTH constexpr Layout compose_tree(const Layout& a, const Layout& b, Digits& digits) {
    if (!is_tuple(b.shape)) return compose_leaf(a, b.shape.value[0], b.stride.value[0], digits);
    Layout out;
    for (int i = 0; i < rank(b); ++i) append(out, compose_tree(a, mode(b, i), digits));
    wrap(out);
    return out;
}

/// R with B's modes, each composed by itself: R(i) = A(B(i)) unless composition_rule() names a rule. Like
/// CuTe, it is lenient: it gives a layout also where no layout is A(B(i)).
LAYOUT_BOTH constexpr Layout composition(const Layout& a, const Layout& b) {
    Digits digits;
    return compose_tree(unbounded(a), b, digits);
}

/// The rule that composition(a, b) breaks, if it does. Where none, it is A(B(i)) for every i; where one is
/// broken it may still be, and composition_differs_at() tells.
LAYOUT_BOTH constexpr Rule composition_rule(const Layout& a, const Layout& b) {
    Digits digits;
    const Layout left = unbounded(a);
    compose_tree(left, b, digits);
    if (!digits.divides) return Rule::stride_divides;
    for (int i = 0; i < left.shape.leaves - 1; ++i) {
        if (digits.highest[i] >= left.shape.value[i]) return Rule::modes_carry;
    }
    return Rule::none;
}

/// The first i at which composition(a, b) is not A(B(i)); -1 where there is none. It tries them all.
LAYOUT_BOTH constexpr Int composition_differs_at(const Layout& a, const Layout& b) {
    const Layout r = composition(a, b);
    for (Int i = 0; i < size(b); ++i) {
        if (r(Tree(i)) != a(Tree(b(Tree(i))))) return i;
    }
    return -1;
}
LAYOUT_BOTH constexpr bool composition_is_exact(const Layout& a, const Layout& b) {
    return composition_differs_at(a, b) < 0;
}

/// The leaves in ascending order of their strides; equal ones of their extents.
LAYOUT_BOTH constexpr Layout sorted_leaves(const Layout& a) {
    Layout out = a;
    for (int i = 1; i < out.shape.leaves; ++i) {
        const Int extent = out.shape.value[i], step = out.stride.value[i];
        int at = i;
        for (; at > 0; --at) {
            const Int below = out.stride.value[at - 1];
            if (below < step || (below == step && out.shape.value[at - 1] <= extent)) break;
            out.shape.value[at] = out.shape.value[at - 1];
            out.stride.value[at] = below;
        }
        out.shape.value[at] = extent;
        out.stride.value[at] = step;
    }
    return out;
}

/// How many steps of `step` a shape has: its first modes have one, once the step is past their extent.
LAYOUT_BOTH constexpr Int steps_in(const Tree& shape, Int step) {
    Int count = 1;
    for (int i = 0; i < shape.leaves; ++i) {
        count *= ceil_div(shape.value[i], step);
        step = ceil_div(step, shape.value[i]);
    }
    return count;
}

/// The offsets below `limit` at which copies of A can begin so that they fill everything up to it and none
/// overlap: each gap between A's modes is a mode, and so is what lies above the last. Offsets that A repeats
/// (stride 0) count once. A limit that is a tuple is rounded up mode by mode: of (5,2) a 3:1 leaves 2·2.
LAYOUT_BOTH constexpr Layout complement(const Layout& a, const Tree& limit) {
    Layout moving;
    for (int i = 0; i < a.shape.leaves; ++i) {
        if (a.stride.value[i] != 0 && a.shape.value[i] != 1) append(moving, leaf(a, i));
    }
    const Layout sorted = sorted_leaves(moving);
    Layout gaps;
    Int covered = 1;
    for (int i = 0; i < sorted.shape.leaves; ++i) {
        const Int step = sorted.stride.value[i];
        require(step % covered == 0, Rule::complement_disjoint);
        append(gaps, leaf(step / covered, covered));
        covered = step * sorted.shape.value[i];
    }
    append(gaps, leaf(steps_in(limit, covered), covered));
    return coalesce(gaps);
}
LAYOUT_BOTH constexpr Layout complement(const Layout& a) {
    return complement(a, cosize(a));
}

/// The longest R with A(R(i)) = i: from offset 1 on, the mode whose stride is the next offset.
LAYOUT_BOTH constexpr Layout right_inverse(const Layout& a) {
    const Layout flat = coalesced_leaves(a);
    Layout out;
    Int next = 1;
    for (bool met = true; met;) {
        met = false;
        Int below = 1;  // indices that a step in this mode passes
        for (int i = 0; i < flat.shape.leaves && !met; ++i) {
            met = flat.stride.value[i] == next;
            if (met) append(out, leaf(flat.shape.value[i], below));
            below *= flat.shape.value[i];
        }
        if (met) next *= out.shape.value[out.shape.leaves - 1];
    }
    return coalesce(out);
}

/// R with R(A(i)) = i: A's offsets taken apart from the smallest stride up. Offsets that A leaves out go to
/// the index below.
LAYOUT_BOTH constexpr Layout left_inverse(const Layout& a) {
    const Layout flat = coalesced_leaves(a);
    const Layout sorted = sorted_leaves(flat);
    Layout out;
    Int below = 1, index_step = 0, end = 1;
    for (int i = 0; i < sorted.shape.leaves; ++i) {
        const Int step = sorted.stride.value[i];
        if (step == 0) continue;  // it says nothing of the index
        require(step % below == 0 && step >= end, Rule::inverse_ordered);
        append(out, leaf(step / below, index_step));
        index_step = 1;
        for (int j = 0; flat.stride.value[j] != step; ++j) index_step *= flat.shape.value[j];
        below = step;
        end = step * sorted.shape.value[i];
    }
    if (out.shape.leaves == 0 && flat.shape.leaves > 0)
        return coalesce(a);  // constant: nothing to go back from
    append(out, leaf(end / below, index_step));
    return coalesce(out);
}

/// (B, what B leaves of A), both seen through A: which element of which tile is where. B says which elements
/// of A are a tile.
LAYOUT_BOTH constexpr Layout logical_divide(const Layout& a, const Layout& b) {
    return composition(a, make_layout(b, complement(b, coalesce(a).shape)));
}

/// (A, B's copies of A), which begin at offsets that A leaves free.
LAYOUT_BOTH constexpr Layout logical_product(const Layout& a, const Layout& b) {
    return make_layout(a, composition(complement(a, size(a) * cosize(b)), b));
}

/// A tile's extent in each mode, or for each mode the layout of its elements.
struct Tiler {
    Layout modes;

    /// (4,8): the first 4 by the first 8, not an index in a 4×8 layout.
    LAYOUT_BOTH explicit constexpr Tiler(const Tree& extents) {
        modes.shape = modes.stride = extents;
        for (int i = 0; i < extents.leaves; ++i) modes.stride.value[i] = extents.value[i] == 1 ? 0 : 1;
    }
    LAYOUT_BOTH explicit constexpr Tiler(const Layout& layouts) : modes(layouts) {}
};

enum class Form { zipped, tiled, flat };

/// Every mode divided by the tiler's, and the tiles' modes gathered before those that are left.
LAYOUT_BOTH constexpr Layout divide(const Layout& a, const Tiler& tiler, Form form) {
    const int tiled = rank(tiler.modes);
    require(tiled <= rank(a), Rule::tiler_rank);
    Layout tile, rest;
    for (int i = 0; i < rank(a); ++i) {
        if (i < tiled) {
            const Layout parts = logical_divide(mode(a, i), mode(tiler.modes, i));
            append(tile, mode(parts, 0));
            append(rest, mode(parts, 1));
        } else {
            append(rest, mode(a, i));
        }
    }
    if (form != Form::flat) wrap(tile);
    if (form == Form::zipped) wrap(rest);
    return make_layout(tile, rest);
}

/// ((tile), (rest)), (tile, rest...) and (tile..., rest...).
LAYOUT_BOTH constexpr Layout zipped_divide(const Layout& a, const Tiler& t) {
    return divide(a, t, Form::zipped);
}
LAYOUT_BOTH constexpr Layout tiled_divide(const Layout& a, const Tiler& t) {
    return divide(a, t, Form::tiled);
}
LAYOUT_BOTH constexpr Layout flat_divide(const Layout& a, const Tiler& t) {
    return divide(a, t, Form::flat);
}

/// ((A), (B)).
LAYOUT_BOTH constexpr Layout zipped_product(const Layout& a, const Layout& b) {
    return logical_product(a, b);
}

/// Mode by mode, A's beside B's: in the block first (blocked), or across the blocks first (raked).
LAYOUT_BOTH constexpr Layout interleave(const Layout& a, const Layout& b, bool block_first) {
    const Layout both = logical_product(a, b);
    const Layout block = mode(both, 0), copies = mode(both, 1);
    require(rank(block) == rank(copies), Rule::tiler_rank);
    if (!is_tuple(block.shape)) return block_first ? make_layout(block, copies) : make_layout(copies, block);
    Layout out;
    for (int i = 0; i < rank(block); ++i) {
        const Layout x = mode(block, i), y = mode(copies, i);
        append(out, block_first ? make_layout(x, y) : make_layout(y, x));
    }
    wrap(out);
    return out;
}
LAYOUT_BOTH constexpr Layout blocked_product(const Layout& a, const Layout& b) {
    return interleave(a, b, true);
}
LAYOUT_BOTH constexpr Layout raked_product(const Layout& a, const Layout& b) {
    return interleave(a, b, false);
}

/// XORs `bits` bits of an offset from bit base + shift on into those from bit base on. CuTe's Swizzle<bits,
/// base, shift>.
struct Swizzle {
    int bits = 0, base = 0, shift = 0;

    /// In the offset's type.
    template <class I>
    LAYOUT_BOTH constexpr I operator()(I offset) const {
        const I source = ((I{1} << bits) - 1) << (base + shift);
        return offset ^ ((offset & source) >> shift);
    }
};

/// A swizzle after a layout: not shape:stride any more, but a function like it.
struct Swizzled {
    Swizzle swizzle;
    Layout layout;

    template <class... Coordinates>
    LAYOUT_BOTH constexpr Int operator()(const Coordinates&... at) const {
        return swizzle(layout(at...));
    }
};
LAYOUT_BOTH constexpr Swizzled composition(const Swizzle& swizzle, const Layout& a) {
    return {swizzle, a};
}
/// (S∘A)∘B = S∘(A∘B).
LAYOUT_BOTH constexpr Swizzled composition(const Swizzled& a, const Layout& b) {
    return {a.swizzle, composition(a.layout, b)};
}

/// The layout in elements of `to` bits of one in elements of `from`. Where they get larger, what lies side by
/// side joins.
LAYOUT_BOTH constexpr Layout recast(const Layout& a, int from, int to) {
    require(from > 0 && to > 0 && (from % to == 0 || to % from == 0), Rule::recast_divides);
    Layout out = a;
    const Int smaller = from / to, larger = to / from;
    for (int i = 0; i < a.shape.leaves; ++i) {
        Int &extent = out.shape.value[i], &step = out.stride.value[i];
        if (smaller > 1) {
            if (step == 1) extent *= smaller;
            if (step != 1) step *= smaller;
        } else if (step % larger == 0) {
            step /= larger;
        } else {
            require(larger % step == 0 && extent % (larger / step) == 0, Rule::recast_divides);
            extent /= larger / step;
            step = 1;
        }
    }
    return out;
}

/// Elements in memory: a pointer, and a function that says how far from it each coordinate is: a Layout, a
/// Swizzled one, a Static one.
template <class T, class Function = Layout>
struct Tensor {
    T* data;
    Function layout = {};

    template <class... Coordinates>
    LAYOUT_BOTH constexpr T& operator()(const Coordinates&... at) const {
        return data[layout(at...)];
    }
};

/// The tile at `coordinate`, which counts tiles in each mode.
template <class T>
LAYOUT_BOTH constexpr Tensor<T> local_tile(const Tensor<T>& a, const Tiler& tiler, const Tree& coordinate) {
    const Layout parts = zipped_divide(a.layout, tiler);
    return {a.data + mode(parts, 1)(coordinate), mode(parts, 0)};
}

/// What `thread` has where threads, arranged as in `threads`, repeat over all of A.
template <class T>
LAYOUT_BOTH constexpr Tensor<T> local_partition(const Tensor<T>& a, const Layout& threads, Int thread) {
    Tree extents;
    for (int i = 0; i < rank(threads); ++i) append(extents, Tree(size(mode(threads.shape, i))));
    if (is_tuple(threads.shape)) wrap(extents);
    const Layout parts = zipped_divide(a.layout, Tiler(extents));
    const Tree at = idx2crd(right_inverse(threads)(thread), extents);
    return {a.data + mode(parts, 0)(at), mode(parts, 1)};
}

/// The bits that are set in any of a layout's offsets.
LAYOUT_BOTH constexpr Int bits_of(const Layout& a) {
    Int bits = 0;
    for (Int i = 0; i < size(a); ++i) bits |= a(Tree(i));
    return bits;
}

/// A layout whose numbers are constants, as a type, and a swizzle after it: of an offset only arithmetic with
/// the coordinates is left, in their type. LAYOUT is a constexpr variable at namespace scope.
template <const Layout& LAYOUT, int BITS = 0, int BASE = 0, int SHIFT = 0>
struct Static {
    static constexpr int rank = layout::rank(LAYOUT);

    /// One coordinate for each mode.
    template <class I, class... More>
    LAYOUT_BOTH constexpr I operator()(I first, More... more) const {
        static_assert(sizeof...(More) + 1 == rank, "one coordinate for each mode");
        constexpr Swizzle swizzle{BITS, BASE, SHIFT};
        if constexpr (BITS == 0) {
            return sum<0>(first, static_cast<I>(more)...);
        } else if constexpr (!APART) {
            return swizzle(sum<0>(first, static_cast<I>(more)...));
        } else {
            // XOR carries nothing from bit to bit. So a sum of offsets without a bit in common is swizzled
            // offset by offset, and where loops are unrolled, all but the first are constants; of these, what
            // meets no bit of the first becomes part of the instruction's address.
            constexpr I taken = static_cast<I>(swizzled_bits(FIRST));
            const I rest = swizzle(sum<1>(static_cast<I>(more)...));
            return (swizzle(digits<0, 0>(first)) ^ (rest & taken)) + (rest & ~taken);
        }
    }

  private:
    /// A mode with as few leaves as describe it.
    template <int MODE>
    static constexpr Layout PART = coalesce(layout::mode(LAYOUT, MODE));

    /// The bits that the first mode sets, and whether the others leave them alone.
    static constexpr Int FIRST = bits_of(layout::mode(LAYOUT, 0));
    LAYOUT_BOTH static constexpr Int others() {
        Int bits = 0;
        for (int i = 1; i < rank; ++i) bits |= bits_of(layout::mode(LAYOUT, i));
        return bits;
    }
    static constexpr bool APART = rank > 1 && (FIRST & others()) == 0;
    LAYOUT_BOTH static constexpr Int swizzled_bits(Int bits) {
        const Int source = ((Int{1} << BITS) - 1) << (BASE + SHIFT);
        return bits | (bits & source) >> SHIFT;
    }

    /// What a mode's leaves from LEAF on make of an index, whose digits they are.
    template <int MODE, int LEAF, class I>
    LAYOUT_BOTH static constexpr I digits(I index) {
        constexpr I extent = static_cast<I>(PART<MODE>.shape.value[LEAF]);
        constexpr I step = static_cast<I>(PART<MODE>.stride.value[LEAF]);
        if constexpr (LEAF + 1 == PART<MODE>.shape.leaves) {
            return index * step;
        } else {
            return index % extent * step + digits<MODE, LEAF + 1>(index / extent);
        }
    }
    template <int MODE, class I, class... More>
    LAYOUT_BOTH static constexpr I sum(I first, More... more) {
        if constexpr (sizeof...(More) == 0) {
            return digits<MODE, 0>(first);
        } else {
            return digits<MODE, 0>(first) + sum<MODE + 1>(more...);
        }
    }
};

}  // namespace layout
