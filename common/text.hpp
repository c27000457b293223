// Sentences with places to fill.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace gemm {

/// `sentence` with every {name} replaced by what value_of("name") returns; a brace is always the start of
/// one.
template <class ValueOf>
std::string filled(std::string_view sentence, const ValueOf& value_of) {
    std::string text;
    for (std::size_t at = 0; at < sentence.size();) {
        const std::size_t open = std::min(sentence.find('{', at), sentence.size());
        text += sentence.substr(at, open - at);
        if (open == sentence.size()) break;
        const std::size_t close = sentence.find('}', open);
        text += value_of(sentence.substr(open + 1, close - open - 1));
        at = close + 1;
    }
    return text;
}

}  // namespace gemm
