// Layouts as people write them: ((4,2),8):((1,16),4), as CuTe's print() does, and back. Host only.
#pragma once

#include <cctype>
#include <stdexcept>
#include <string>
#include <string_view>

#include "20_layout_algebra/layout.hpp"

namespace layout {

/// What is wrong with a text, and at which character, from 0.
struct Malformed : std::runtime_error {
    Malformed(const std::string& what, std::size_t at) : std::runtime_error(what), position(at) {}
    std::size_t position;
};

inline std::string text(const Tree& tree) {
    std::string out;
    for (int i = 0; i < tree.leaves; ++i) {
        out += (i > 0 ? "," : "") + std::string(tree.opens[i], '(') + std::to_string(tree.value[i]);
        out += std::string(tree.closes[i], ')');
    }
    return out;
}
inline std::string text(const Layout& a) {
    return text(a.shape) + ":" + text(a.stride);
}

/// Reads trees and layouts from left to right.
class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Tree tree() {
        if (!take('(')) return Tree(integer());
        Tree all;
        do {
            const std::size_t at = at_;
            const Tree more = tree();
            if (all.leaves + more.leaves > MAX_LEAVES) throw Malformed("there are more than 32 numbers", at);
            append(all, more);
        } while (take(','));
        if (!take(')')) throw Malformed("a comma or a closing parenthesis is expected", at_);
        wrap(all);
        return all;
    }

    /// Extents, each at least 1.
    Tree shape() {
        const std::size_t start = at_;
        const Tree extents = tree();
        check_extents(extents, start);
        return extents;
    }

    /// shape:stride, or a shape alone, whose strides are then compact, left-most fastest.
    Layout layout() {
        const Tree shape = this->shape();
        if (!take(':')) return Layout(shape);
        const std::size_t at = at_;
        const Tree stride = tree();
        if (!congruent(shape, stride)) throw Malformed("the stride is not nested as the shape is", at);
        const Layout layout(shape, stride);
        if (cosize(layout) > MOST) throw Malformed("the strides lead past offset 2147483648", at);
        return layout;
    }

    void end() const {
        if (at_ < text_.size()) throw Malformed("the layout has ended before this character", at_);
    }

  private:
    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    Int integer() {
        const std::size_t start = at_;
        Int value = 0;
        for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_) {
            value = value * 10 + (text_[at_] - '0');
            if (value > MOST) throw Malformed("the number is larger than 2147483648", start);
        }
        if (at_ == start) throw Malformed("a number or an opening parenthesis is expected", at_);
        return value;
    }
    static void check_extents(const Tree& shape, std::size_t at) {
        Int elements = 1;
        for (int i = 0; i < shape.leaves; ++i) {
            if (shape.value[i] < 1) throw Malformed("an extent of the shape is 0", at);
            elements *= shape.value[i];
            if (elements > MOST) throw Malformed("the shape has more than 2147483648 elements", at);
        }
    }
    static constexpr Int MOST = Int{1} << 31;  // of elements and offsets: 64 bits hold their products

    std::string_view text_;
    std::size_t at_ = 0;
};

inline Layout parse(std::string_view text) {
    Parser parser(text);
    const Layout layout = parser.layout();
    parser.end();
    return layout;
}

/// Integers, nested: a shape.
inline Tree parse_tree(std::string_view text) {
    Parser parser(text);
    const Tree tree = parser.shape();
    parser.end();
    return tree;
}

/// Each mode a layout of its own, or an extent: (4,8) and 4:1 are tilers.
inline Tiler parse_tiler(std::string_view text) {
    if (text.find(':') != std::string_view::npos) return Tiler(parse(text));
    return Tiler(parse_tree(text));
}

}  // namespace layout
