#include "common/check/variant.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "common/check/dtype.hpp"
#include "common/error.hpp"

namespace gemm {
namespace {

constexpr std::array kLayouts{"nn", "nt", "tn", "tt"};    // in the order of Layout
constexpr std::array kBatches{"", "strided", "grouped"};  // in the order of Batch

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == separator) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

/// Whether it is one of them.
bool among(DType type, std::initializer_list<DType> types) {
    return std::find(types.begin(), types.end(), type) != types.end();
}

std::string capability(int sm) {
    return "compute capability " + std::to_string(sm / 10) + "." + std::to_string(sm % 10);
}

/// "90a" → 90.
int number_of(const char* architecture) {
    return std::atoi(architecture);
}

}  // namespace

std::optional<Accumulator> accumulator_of(const Variant& v) {
    using enum DType;
    if (v.group != 0) {  // the weights, as they are multiplied, have A's type
        const bool whole = among(v.B, {int4, int8}) && among(v.A, {bf16, fp16});
        return whole && among(v.C, {fp32, bf16, fp16}) ? std::optional(Accumulator::tensor_fp32)
                                                       : std::nullopt;
    }
    if (v.A == int8 && v.B == int8) return v.C == int32 ? std::optional(Accumulator::int32) : std::nullopt;
    for (const DType input : {v.A, v.B}) {
        if (!among(input, {fp32, tf32, bf16, fp16, e4m3, e5m2})) return std::nullopt;
    }
    if (!among(v.C, {fp32, bf16, fp16})) return std::nullopt;
    if (v.A == fp32 || v.B == fp32) return Accumulator::fp32;
    const bool fp8 = among(v.A, {e4m3, e5m2}) && among(v.B, {e4m3, e5m2});
    return fp8 ? Accumulator::tensor_fp8 : Accumulator::tensor_fp32;
}

Accumulator accumulator(const Variant& variant) {
    if (const std::optional<Accumulator> known = accumulator_of(variant)) return *known;
    throw Error("Nothing adds up the products of " + text(variant) + ".");
}

namespace {

/// "+bias+gelu+residual+to_fp32", in the order in which it is computed.
std::string epilogue_text(const Variant& v) {
    std::string text;
    if (v.bias) text += "+bias";
    if (v.activation == Activation::gelu) text += "+gelu";
    if (v.residual) text += "+residual";
    if (v.D) text += std::string("+to_") + dtype_name(*v.D);
    return text;
}

/// Puts one of its terms into v. Whether there is such a term.
bool take_term(Variant& v, const std::string& term) {
    if (term == "bias") return v.bias = true;
    if (term == "residual") return v.residual = true;
    if (term == "gelu") {
        v.activation = Activation::gelu;
        return true;
    }
    if (term.rfind("to_", 0) == 0) v.D = dtype_named(term.substr(3));
    return v.D.has_value();
}

/// Puts "int4g128" into v: B's type, and how many steps share a scale. Whether that is what the text says.
bool take_weights(Variant& v, const std::string& part) {
    const std::size_t g = part.find_last_of('g');
    if (g == std::string::npos || g + 1 == part.size() || part.size() > g + 7) return false;
    const std::string count = part.substr(g + 1);
    const bool digits = std::all_of(count.begin(), count.end(), [](char c) { return c >= '0' && c <= '9'; });
    const std::optional<DType> type = dtype_named(part.substr(0, g));
    if (!digits || !type) return false;
    v.B = *type;
    v.group = std::atoi(count.c_str());
    return v.group > 0;
}

/// Puts the types of A, B and C into v, or of A and C where B's is known.
bool take_types(Variant& v, const std::vector<std::string>& names) {
    std::vector<DType*> matrices{&v.A, &v.B, &v.C};
    if (v.group != 0) matrices = {&v.A, &v.C};
    if (names.size() > matrices.size()) return false;
    for (std::size_t i = 0; i < matrices.size(); ++i) {
        // One type is all three's, two are A's and B's, and C's.
        const bool two_of_three = names.size() == 2 && matrices.size() == 3;
        const std::optional<DType> type =
            dtype_named(names[two_of_three ? i / 2 : std::min(i, names.size() - 1)]);
        if (!type) return false;
        *matrices[i] = *type;
    }
    return true;
}

/// Puts what follows the types, each behind a dot, into v: a layout, then a batch. Whether it is that.
bool take_qualifiers(Variant& v, std::vector<std::string> parts) {
    const auto take = [&](const auto& names, auto& field) {
        if (parts.empty()) return;
        const auto at = std::find(names.begin(), names.end(), parts.front());
        if (at == names.end()) return;
        field = static_cast<std::remove_reference_t<decltype(field)>>(at - names.begin());
        parts.erase(parts.begin());
    };
    take(kLayouts, v.layout);
    take(kBatches, v.batch);
    return parts.empty();
}

/// Whether its result can be of that type: an epilogue is computed in FP32. Of what it reads beside A, B and
/// C, the problems of a batch have none of their own.
bool has_result(const Variant& v) {
    const auto is_float = [](DType type) { return among(type, {DType::fp32, DType::bf16, DType::fp16}); };
    if (v.batch != Batch::one && (v.group != 0 || v.bias || v.residual)) return false;
    return v.plain() || (is_float(v.C) && is_float(v.result()));
}

}  // namespace

std::string text(const Variant& v) {
    std::string types = dtype_name(v.A);
    if (v.group != 0) {
        types = std::string(dtype_name(v.B)) + "g" + std::to_string(v.group) + "." + types;
        if (v.A != v.C) types += std::string("_") + dtype_name(v.C);
    } else {
        if (v.A != v.B) types += std::string("_") + dtype_name(v.B);
        if (v.A != v.B || v.B != v.C) types += std::string("_") + dtype_name(v.C);
    }
    return types +
           (v.layout == Layout::nn ? "" : std::string(".") + kLayouts[static_cast<std::size_t>(v.layout)]) +
           (v.batch == Batch::one ? "" : std::string(".") + kBatches[static_cast<std::size_t>(v.batch)]) +
           epilogue_text(v);
}

std::optional<Variant> variant_named(const std::string& name) {
    const std::vector<std::string> terms = split(name, '+');
    std::vector<std::string> parts = split(terms.front(), '.');
    Variant v;
    const bool scaled = take_weights(v, parts.front());
    if (scaled) parts.erase(parts.begin());
    if (parts.empty() || !take_types(v, split(parts.front(), '_'))) return std::nullopt;
    if (!take_qualifiers(v, {parts.begin() + 1, parts.end()})) return std::nullopt;
    for (std::size_t i = 1; i < terms.size(); ++i) {
        if (!take_term(v, terms[i])) return std::nullopt;
    }
    // One text each: no "bf16_bf16", no "bf16.nn".
    const bool is_one = text(v) == name && accumulator_of(v) && has_result(v);
    return is_one ? std::optional(v) : std::nullopt;
}

std::optional<Variant> variant_option(const std::string& variant, const std::string& dtype) {
    if (!variant.empty() && !dtype.empty()) {
        throw Error("--dtype is short for --variant; give one of the two.");
    }
    if (!dtype.empty()) {
        const std::optional<DType> type = dtype_named(dtype);
        if (type && accumulator_of(of_type(*type))) return of_type(*type);
        throw Error("--dtype must be fp32, bf16 or fp16, and is \"" + dtype + "\".");
    }
    if (variant.empty()) return std::nullopt;
    if (const std::optional<Variant> named = variant_named(variant)) return named;
    throw Error(
        "--variant must be types, after a dot each a layout unless it is nn and the kind of a batch, and "
        "after "
        "a plus each what is fused, such as bf16, bf16_fp32, bf16.nt, bf16.strided or bf16+bias+gelu, and is "
        "\"" +
        variant + "\".");
}

bool offers(const Lesson& lesson, const Variant& variant) {
    return std::any_of(lesson.variants.begin(), lesson.variants.end(),
                       [&](const Offer& offer) { return offer.variant == variant; });
}

std::string offered(const Lesson& lesson) {
    std::string names;
    for (const Offer& offer : lesson.variants) names += (names.empty() ? "" : ", ") + text(offer.variant);
    return names;
}

Lesson with_variant(const Lesson& lesson, const Variant& variant) {
    Lesson chosen = lesson;
    for (chosen.chosen = 0; chosen.chosen < lesson.variants.size(); ++chosen.chosen) {
        if (chosen.variant() == variant) return chosen;
    }
    throw Error(std::string(lesson.name) + " does not take " + text(variant) + "; it takes " +
                offered(lesson) + ".");
}

bool runs_on(const Architectures& architectures, int sm) {
    return architectures.exactly != nullptr ? sm == number_of(architectures.exactly)
                                            : sm >= architectures.from;
}

std::string text(const Architectures& architectures) {
    if (architectures.exactly == nullptr) return capability(architectures.from) + " or higher";
    return capability(number_of(architectures.exactly)) + " (sm_" + architectures.exactly + "), and no other";
}

}  // namespace gemm
