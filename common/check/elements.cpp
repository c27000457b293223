#include "common/check/elements.hpp"

#include <iterator>

#include "common/check/parallel.hpp"

namespace gemm {
namespace {

constexpr std::int64_t kGrain = 1 << 16;  // elements that are worth a thread

/// Calls of(i) for each of `count` elements of a type, by several threads unless two elements share a byte.
template <class Of>
void each(DType dtype, std::size_t count, const Of& of) {
    const auto n = static_cast<std::int64_t>(count);
    parallel_for(n, info(dtype).bits < 8 ? n + 1 : kGrain, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) of(i);
    });
}

}  // namespace

Elements::Elements(DType dtype, std::size_t count, std::uint32_t bits) : Elements(dtype, count) {
    each(dtype, count, [&](std::size_t i) { set_bits(i, bits); });
}

Elements Elements::part(std::size_t first, std::size_t count) const {
    Elements found(dtype_, count);
    if (count > 0)
        std::memcpy(found.bytes_.data(), bytes_.data() + bytes_of(dtype_, first), found.bytes_.size());
    return found;
}

void Elements::put(std::size_t first, const Elements& part) {
    if (part.count_ > 0)
        std::memcpy(bytes_.data() + bytes_of(dtype_, first), part.bytes_.data(), part.bytes_.size());
}

std::vector<float> floats(const Elements& elements) {
    std::vector<float> values(elements.size());
    if (elements.dtype() == DType::fp32) {
        if (!values.empty()) std::memcpy(values.data(), elements.bytes().data(), elements.bytes().size());
        return values;
    }
    each(elements.dtype(), values.size(),
         [&](std::size_t i) { values[i] = static_cast<float>(elements[i]); });
    return values;
}

Elements elements(DType dtype, std::span<const float> values) {
    Elements all(dtype, values.size());
    each(dtype, values.size(), [&](std::size_t i) { all.set_bits(i, encode(dtype, values[i])); });
    return all;
}

}  // namespace gemm
