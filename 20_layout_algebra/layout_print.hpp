// Layouts as tables and pictures: mode 0 is the row, the other modes together are the column. Host only.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "20_layout_algebra/layout.hpp"

namespace layout {

/// A layout's offsets, and what a swizzle makes of them: rows × columns.
struct Grid {
    Int rows = 1, columns = 1;
    std::vector<Int> offsets;  // row by row

    explicit Grid(const Swizzled& a) {
        const Layout& layout = a.layout;
        rows = rank(layout) > 1 ? size(mode(layout, 0)) : 1;
        columns = size(layout) / rows;
        for (Int i = 0; i < size(layout); ++i) offsets.push_back(a(i / columns + i % columns * rows));
    }
};

/// A table with the numbers of rows and columns at its edges.
inline std::string print_layout(const Swizzled& a) {
    const Grid grid(a);
    const Int most =
        std::max({*std::max_element(grid.offsets.begin(), grid.offsets.end()), grid.rows, grid.columns});
    const std::size_t width = std::to_string(most).size() + 1, edge = std::to_string(grid.rows - 1).size();
    const auto right = [](Int number, std::size_t wide) {
        const std::string digits = std::to_string(number);
        return std::string(wide > digits.size() ? wide - digits.size() : 0, ' ') + digits;
    };
    std::string out(edge + 2, ' ');
    for (Int column = 0; column < grid.columns; ++column) out += right(column, width);
    out += "\n";
    for (Int row = 0; row < grid.rows; ++row) {
        out += right(row, edge) + " |";
        for (Int column = 0; column < grid.columns; ++column) {
            out += right(grid.offsets[static_cast<std::size_t>(row * grid.columns + column)], width);
        }
        out += "\n";
    }
    return out;
}

/// The same as an SVG file. A cell's shade goes with its offset modulo 8, so that neighbors in memory are
/// told apart.
inline std::string svg_layout(const Swizzled& a, const std::string& title) {
    constexpr Int CELL = 36, EDGE = 40;
    const Grid grid(a);
    const auto number = [](Int n) { return std::to_string(n); };
    const auto label = [&](Int x, Int y, const std::string& text, const char* weight) {
        return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" font-weight=\"" + weight + "\">" +
               text + "</text>\n";
    };
    std::string shown;  // Swizzle<3,4,3> is no tag
    for (const char c : title) shown += c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    const Int wide = std::max(EDGE + grid.columns * CELL, static_cast<Int>(title.size()) * 9) + 8;
    std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(wide) + "\" height=\"" +
                      number(2 * EDGE + grid.rows * CELL + 8) +
                      "\" font-family=\"sans-serif\" font-size=\"14\" text-anchor=\"middle\">\n"
                      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    out += "<title>" + shown + "</title>\n" + label(wide / 2, 24, shown, "bold");
    for (Int column = 0; column < grid.columns; ++column) {
        out += label(EDGE + column * CELL + CELL / 2, 2 * EDGE - 8, number(column), "bold");
    }
    for (Int row = 0; row < grid.rows; ++row) {
        const Int y = 2 * EDGE + row * CELL;
        out += label(EDGE / 2, y + 23, number(row), "bold");
        for (Int column = 0; column < grid.columns; ++column) {
            const Int offset = grid.offsets[static_cast<std::size_t>(row * grid.columns + column)];
            const Int x = EDGE + column * CELL, shade = 100 - 6 * (offset % 8);
            out += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(CELL) +
                   "\" height=\"" + number(CELL) + "\" stroke=\"#555\" fill=\"hsl(210,60%," + number(shade) +
                   "%)\"/>\n" + label(x + CELL / 2, y + 23, number(offset), "normal");
        }
    }
    return out + "</svg>\n";
}

}  // namespace layout
