// The text of an asm statement, read at compile time: its instructions, their operands and the names that it
// declares (PTX ISA, "Syntax"; "Inline PTX Assembly in CUDA").
#pragma once

#include <cstddef>
#include <string_view>

namespace cpu_device::inline_ptx {

/// A string literal as a template argument.
template <std::size_t N>
struct Text {
    char characters[N];
    constexpr Text(const char (&literal)[N]) {
        for (std::size_t i = 0; i < N; ++i) characters[i] = literal[i];
    }
    constexpr std::string_view view() const { return {characters, N - 1}; }
};

/// %0; a name that the statement declares; a number; _; %laneid.
enum class Kind : unsigned char { operand, named, immediate, sink, special };

/// value: the operand's number, the name's, the immediate, or where in the text the special register begins.
struct Scalar {
    Kind kind{};
    long value = 0;
};
/// An operand of an instruction: one scalar, or all that stand in its brackets and braces.
struct Group {
    int first = 0, count = 0;
    long offset = 0;  // [address + offset]
};
constexpr int kMostInstructions = 48, kMostScalars = 400, kMostGroups = 16, kMostNames = 24;

struct Instruction {
    int from = 0, to = 0;  // its name in the text: "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
    int predicate = -1;    // the name of it
    bool negated = false;
    int groups = 0;
    Group group[kMostGroups]{};
};
struct Program {
    int instructions = 0, scalars = 0, names = 0;
    Instruction instruction[kMostInstructions]{};
    Scalar scalar[kMostScalars]{};
    int name_from[kMostNames]{}, name_to[kMostNames]{};
    bool loops = false;  // branches: a wait that asks until it is so
    bool readable = true;
};

class Parser {
  public:
    constexpr explicit Parser(std::string_view text) : text_(text) {}

    constexpr Program parse() {
        while (skip(), at_ < text_.size() && p_.readable) {
            if (const char c = text_[at_]; c == '{' || c == '}' || c == ';') {
                ++at_;
            } else if (c == '.') {  // .reg
                while (at_ < text_.size() && text_[at_] != ';') ++at_;
            } else {
                instruction();
            }
        }
        return p_;
    }

    static constexpr bool digit(char c) { return c >= '0' && c <= '9'; }

  private:
    static constexpr bool space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
    static constexpr bool word(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || digit(c) || c == '_' || c == '$';
    }
    constexpr char peek(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }
    constexpr void skip() {
        for (;;) {
            while (space(peek())) ++at_;
            if (peek() != '/' || peek(1) != '/') return;
            while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        }
    }
    constexpr int name(std::size_t from) {
        const std::string_view wanted = text_.substr(from, at_ - from);
        for (int n = 0; n < p_.names; ++n) {
            const auto begin = static_cast<std::size_t>(p_.name_from[n]);
            if (text_.substr(begin, static_cast<std::size_t>(p_.name_to[n]) - begin) == wanted) return n;
        }
        if (p_.names == kMostNames) return p_.readable = false, 0;
        p_.name_from[p_.names] = static_cast<int>(from);
        p_.name_to[p_.names] = static_cast<int>(at_);
        return p_.names++;
    }
    constexpr long number() {
        const bool minus = peek() == '-';
        if (minus) ++at_;
        long value = 0;
        // 0x, and 0f for a float's bits
        if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X' || peek(1) == 'f' || peek(1) == 'F')) {
            for (at_ += 2; word(peek()); ++at_) {
                const char c = peek();
                if (c != 'U') value = value * 16 + (digit(c) ? c - '0' : (c | 32) - 'a' + 10);
            }
        } else {
            while (digit(peek())) value = value * 10 + (text_[at_++] - '0');
            if (peek() == 'U') ++at_;
            if (peek() == '.')  // of a cache policy's fraction, which does not matter here
                while (peek() == '.' || digit(peek())) ++at_;
        }
        return minus ? -value : value;
    }
    constexpr void instruction() {
        if (p_.instructions == kMostInstructions) return void(p_.readable = false);
        Instruction& it = p_.instruction[p_.instructions];
        if (peek() == '@') {
            ++at_;
            if (peek() == '!') it.negated = true, ++at_;
            if (peek() == '%' && digit(peek(1)))  // an operand, which has no type for it
                return void(p_.readable = false);
            while (peek() == '%') ++at_;
            const std::size_t from = at_;
            while (word(peek())) ++at_;
            it.predicate = name(from);
            skip();
        }
        const std::size_t from = at_;
        while (word(peek()) || peek() == '.' || peek() == '%' || peek() == '=' ||
               (peek() == ':' && (peek(1) == ':' || (at_ > from && text_[at_ - 1] == ':'))))
            ++at_;
        if (peek() == ':') return void(++at_);  // a label
        if (at_ == from) return void(p_.readable = false);
        it.from = static_cast<int>(from);
        it.to = static_cast<int>(at_);
        ++p_.instructions;
        if (text_.substr(from, 3) != "bra") return operands(it);
        p_.loops = true;
        while (at_ < text_.size() && text_[at_] != ';') ++at_;
    }
    constexpr void operands(Instruction& it) {
        int depth = 0;
        bool open = false;
        const auto close = [&] {
            Group& group = it.group[it.groups++];
            group.count = p_.scalars - group.first;
            open = false;
        };
        while (skip(), at_ < text_.size() && text_[at_] != ';' && (text_[at_] != '}' || depth > 0)) {
            const char c = text_[at_];
            if (it.groups == kMostGroups || p_.scalars == kMostScalars) return void(p_.readable = false);
            if (!open && c != ',') open = true, it.group[it.groups] = {.first = p_.scalars};
            if (c == '[' || c == '{') {
                ++depth, ++at_;
            } else if (c == ']' || c == '}') {
                --depth, ++at_;
            } else if (c == ',') {
                ++at_;
                if (depth == 0) close();
            } else if (c == '+') {
                ++at_, skip();
                if (!digit(peek()) && peek() != '-') return void(p_.readable = false);
                it.group[it.groups].offset = number();
            } else if (c == '|') {  // %0|p: the second is one more scalar
                ++at_;
            } else if (!scalar()) {
                return void(p_.readable = false);
            }
        }
        if (open) close();
    }
    /// Whether it is a register of the hardware's (PTX ISA, "Special Registers"), and none that the statement
    /// declares.
    static constexpr bool is_special(std::string_view name) {
        constexpr std::string_view kNames[] = {"tid",
                                               "ntid",
                                               "laneid",
                                               "warpid",
                                               "nwarpid",
                                               "ctaid",
                                               "nctaid",
                                               "smid",
                                               "nsmid",
                                               "gridid",
                                               "clock",
                                               "clock64",
                                               "clusterid",
                                               "nclusterid",
                                               "cluster_ctaid",
                                               "cluster_nctaid",
                                               "cluster_ctarank",
                                               "cluster_nctarank",
                                               "is_explicit_cluster",
                                               "lanemask_lt",
                                               "lanemask_le",
                                               "lanemask_eq",
                                               "lanemask_gt",
                                               "lanemask_ge",
                                               "globaltimer",
                                               "globaltimer_lo",
                                               "dynamic_smem_size",
                                               "total_smem_size"};
        const std::string_view first = name.substr(0, name.find('.'));
        for (const std::string_view known : kNames) {
            if (first == known) return true;
        }
        return false;
    }
    constexpr bool scalar() {
        Scalar& s = p_.scalar[p_.scalars++];
        const char c = peek();
        if (c == '%') {
            ++at_;
            if (peek() == '%') ++at_;
            if (digit(peek())) return s = {Kind::operand, number()}, true;
            const std::size_t from = at_;
            while (word(peek()) || peek() == '.') ++at_;
            s = is_special(text_.substr(from, at_ - from)) ? Scalar{Kind::special, static_cast<long>(from)}
                                                           : Scalar{Kind::named, name(from)};
            return true;
        }
        if (digit(c) || c == '-') return s = {Kind::immediate, number()}, true;
        if (!word(c)) return false;
        const std::size_t from = at_;
        while (word(peek())) ++at_;
        s = text_.substr(from, at_ - from) == "_" ? Scalar{Kind::sink, 0} : Scalar{Kind::named, name(from)};
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    Program p_;
};

template <Text T>
inline constexpr Program program = Parser(T.view()).parse();

/// Whether one of an instruction's parts, between its dots, is that.
constexpr bool has(std::string_view name, std::string_view part) {
    for (std::size_t at = 0;;) {
        const std::size_t end = name.find('.', at);
        if (name.substr(at, end == name.npos ? end : end - at) == part) return true;
        if (end == name.npos) return false;
        at = end + 1;
    }
}
/// The number at that place of a name.
constexpr int number_at(std::string_view name, std::size_t at) {
    int value = 0;
    for (; at < name.size() && Parser::digit(name[at]); ++at) value = value * 10 + (name[at] - '0');
    return value;
}

}  // namespace cpu_device::inline_ptx
