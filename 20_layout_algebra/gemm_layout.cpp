// gemm_layout <layout> [--compose=B] [--complement=N] [--divide=B] [--tile=T] [--tiled-divide=T]
//             [--flat-divide=T] [--product=B] [--blocked-product=B] [--raked-product=B] [--right-inverse]
//             [--left-inverse] [--flatten] [--group-modes=BEGIN,END] [--swizzle=B,M,S] [--svg=FILE] [--json]
//   Shows a layout, and what each of these operations makes of it. --svg draws the last of them.
// ./gemm layout runs it. Exit status 2, and one sentence, where a text is malformed or an operation
// undefined.
#include "20_layout_algebra/layout.hpp"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "20_layout_algebra/layout_print.hpp"
#include "20_layout_algebra/layout_text.hpp"

namespace {

using namespace layout;  // NOLINT: the program is about nothing else
using Json = nlohmann::ordered_json;

constexpr int SCHEMA = 1;
constexpr Int MOST_SHOWN = 4096, MOST_TRIED = Int{1} << 24;
const std::set<std::string> WITH_OPERAND = {
    "--compose", "--complement",      "--divide",        "--tile",        "--tiled-divide", "--flat-divide",
    "--product", "--blocked-product", "--raked-product", "--group-modes", "--swizzle"};
const std::set<std::string> WITHOUT_OPERAND = {"--right-inverse", "--left-inverse", "--flatten"};

struct Option {
    std::string name, value;
};

/// One layout that is shown: what it is of, and how exact it is.
struct Shown {
    std::string operation, argument;
    Swizzled result;
    Rule rule = Rule::none;  // of a composition
    Int differs_at = -1;     // its first index that is not A(B(i))
};

/// Reads a text; where it is malformed, shows it with a mark below the character.
template <class Read>
auto marked(const std::string& given, const Read& read) {
    try {
        return read(given);
    } catch (const Malformed& e) {
        std::cerr << given << "\n" << std::string(e.position, ' ') << "^\n";
        throw std::runtime_error("At character " + std::to_string(e.position + 1) + " of \"" + given + "\" " +
                                 e.what() + ".");
    }
}

Swizzle swizzle(const std::string& given) {
    Swizzle s;
    int end = 0;
    const bool read = std::sscanf(given.c_str(), "%d,%d,%d%n", &s.bits, &s.base, &s.shift, &end) == 3;
    if (!read || end != static_cast<int>(given.size()) || s.bits < 0 || s.base < 0 || s.shift < s.bits ||
        s.bits + s.base + s.shift > 30)
        throw std::runtime_error(
            "--swizzle takes bits, base and shift (at least as many as bits), such as 3,4,3, and not \"" +
            given + "\".");
    return s;
}

/// The modes from BEGIN on, before END, as one.
Layout grouped(const Layout& a, const std::string& given) {
    int begin = 0, end = 0, read = 0;
    const bool two = std::sscanf(given.c_str(), "%d,%d%n", &begin, &end, &read) == 2;
    if (!two || read != static_cast<int>(given.size()) || begin < 0 || end <= begin || end > rank(a))
        throw std::runtime_error(
            "--group-modes takes the first mode and the one after the last, such as 0,2, of " +
            std::to_string(rank(a)) + " here, and not \"" + given + "\".");
    return group_modes(a, begin, end);
}

/// The blocked product or the raked one: each mode of the block, beside one of the copies'.
Layout side_by_side(const Layout& a, const Layout& b, bool block_first) {
    const Layout copies = mode(logical_product(a, b), 1);
    if (rank(a) != rank(copies))
        throw std::runtime_error(
            "A blocked or raked product pairs the modes of the block with those of the copies; the "
            "block has " +
            std::to_string(rank(a)) + ", and the copies have " + std::to_string(rank(copies)) + ".");
    return block_first ? blocked_product(a, b) : raked_product(a, b);
}

Shown shown(const Layout& a, const Option& option) {
    Shown s{option.name, option.value, {{}, a}, Rule::none, -1};
    const auto layout = [&] { return marked(option.value, parse); };
    const auto tiler = [&] { return marked(option.value, parse_tiler); };
    Layout& result = s.result.layout;
    if (option.name == "compose") {
        const Layout b = layout();
        result = composition(a, b);
        s.rule = composition_rule(a, b);
        if (s.rule != Rule::none && size(b) > MOST_TRIED) {
            throw std::runtime_error("A composition with more than 16777216 elements must keep the rule (" +
                                     std::string(sentence(s.rule)) + ").");
        }
        if (s.rule != Rule::none) s.differs_at = composition_differs_at(a, b);
    }
    if (option.name == "complement") result = complement(a, marked(option.value, parse_tree));
    if (option.name == "divide") result = logical_divide(a, layout());
    if (option.name == "tile") result = zipped_divide(a, tiler());
    if (option.name == "tiled-divide") result = tiled_divide(a, tiler());
    if (option.name == "flat-divide") result = flat_divide(a, tiler());
    if (option.name == "product") result = logical_product(a, layout());
    if (option.name == "blocked-product") result = side_by_side(a, layout(), true);
    if (option.name == "raked-product") result = side_by_side(a, layout(), false);
    if (option.name == "right-inverse") result = right_inverse(a);
    if (option.name == "left-inverse") result = left_inverse(a);
    if (option.name == "flatten") result = flatten(a);
    if (option.name == "group-modes") result = grouped(a, option.value);
    if (option.name == "swizzle") s.result.swizzle = swizzle(option.value);
    return s;
}

std::string name(const Shown& s) {
    return s.operation == "swizzle" ? "Swizzle<" + s.argument + "> o " + text(s.result.layout)
                                    : text(s.result.layout);
}

Json json(const Shown& s) {
    const Layout& a = s.result.layout;
    Json values = Json::array();
    for (Int i = 0; i < std::min(size(a), MOST_SHOWN); ++i) values.push_back(s.result(i));
    Json out = {{"operation", s.operation}, {"argument", s.argument},
                {"result", name(s)},        {"size", size(a)},
                {"cosize", cosize(a)},      {"rank", rank(a)},
                {"depth", depth(a)},        {"coalesced", text(coalesce(a))},
                {"values", values}};
    if (s.operation == "compose") out["differs_at"] = s.differs_at < 0 ? Json() : Json(s.differs_at);
    return out;
}

void print(const Layout& a, const Shown& s) {
    const Layout& result = s.result.layout;
    if (s.operation.empty()) {
        std::cout << name(s) << "\n";
    } else {
        std::cout << "\n--" << s.operation << (s.argument.empty() ? "" : " ") << s.argument << ": " << name(s)
                  << "\n";
    }
    std::cout << "size " << size(result) << ", cosize " << cosize(result) << ", rank " << rank(result)
              << ", depth " << depth(result) << ", coalesced " << text(coalesce(result)) << "\n";
    if (s.differs_at >= 0) {
        const Int at = parse(s.argument)(s.differs_at);
        std::cout << "This is not A(B(i)): R(" << s.differs_at << ") = " << result(s.differs_at)
                  << ", and A(B(" << s.differs_at << ")) = A(" << at << ") = " << a(at) << " ("
                  << sentence(s.rule) << ").\n";
    }
    if (size(result) <= MOST_SHOWN) std::cout << print_layout(s.result);
}

int run(int argc, char** argv) {
    std::string given, svg;
    bool as_json = false;
    std::vector<Option> options;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const std::size_t equals = argument.find('=');
        const std::string key = argument.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
        const bool known = (equals == std::string::npos ? WITHOUT_OPERAND : WITH_OPERAND).count(key) > 0;
        if (argument == "--json") {
            as_json = true;
        } else if (key == "--svg") {
            svg = value;
        } else if (known) {
            options.push_back({key.substr(2), value});
        } else if (given.empty() && argument[0] != '-') {
            given = argument;
        } else {
            throw std::runtime_error("\"" + argument +
                                     "\" is neither a layout nor an option such as --compose=4:1.");
        }
    }
    const Layout a = marked(given, parse);
    std::vector<Shown> all = {{"", "", {{}, a}, Rule::none, -1}};
    for (const Option& option : options) all.push_back(shown(a, option));
    if (as_json) {
        Json list = Json::array();
        for (const Shown& s : all) list.push_back(json(s));
        std::cout << Json{{"schema", SCHEMA}, {"layouts", list}}.dump(1) << "\n";
    } else {
        for (const Shown& s : all) print(a, s);
    }
    if (svg.empty()) return 0;
    if (size(all.back().result.layout) > MOST_SHOWN)
        throw std::runtime_error("A layout of more than 4096 elements is too large to draw.");
    std::ofstream file(svg);
    file << svg_layout(all.back().result, name(all.back()));
    if (!file.flush()) throw std::runtime_error("\"" + svg + "\" cannot be written.");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const Undefined& e) {
        std::cerr << "gemm_layout: The operation is not defined (" << sentence(e.rule) << ").\n";
    } catch (const std::exception& e) {
        std::cerr << "gemm_layout: " << e.what() << "\n";
    }
    return 2;
}
