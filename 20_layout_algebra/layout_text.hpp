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

    /// shape:stride, or a shape alone, whose strides are then compact, left-most fastest.
    Layout layout() {
        const std::size_t start = at_;
        const Tree shape = tree();
        check_extents(shape, start);
        if (!take(':')) return Layout(shape);
        const std::size_t at = at_;
        const Tree stride = tree();
        if (!congruent(shape, stride)) throw Malformed("the stride is not nested as the shape is", at);
        return {shape, stride};
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
            if (value > (Int{1} << 31)) throw Malformed("the number is larger than 2147483648", start);
        }
        if (at_ == start) throw Malformed("a number or an opening parenthesis is expected", at_);
        return value;
    }
    static void check_extents(const Tree& shape, std::size_t at) {
        for (int i = 0; i < shape.leaves; ++i) {
            if (shape.value[i] < 1) throw Malformed("an extent of the shape is 0", at);
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

inline Layout parse(std::string_view text) {
    Parser parser(text);
    const Layout layout = parser.layout();
    parser.end();
    return layout;
}

/// Each mode a layout of its own, or an extent: (4,8) and 4:1 are tilers.
inline Tiler parse_tiler(std::string_view text) {
    Parser parser(text);
    if (text.find(':') != std::string_view::npos) return Tiler(parse(text));
    const Tree extents = parser.tree();
    parser.end();
    return Tiler(extents);
}

}  // namespace layout
