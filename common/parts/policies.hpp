// Device level: several compositions of which a launch takes one by its number.
#pragma once

namespace gemm {

/// A table of types, each of which stands for a composition's sizes.
template <class... P>
struct Policies {
    static constexpr int COUNT = sizeof...(P);

    /// what(P{}) with the type of this number, 0 … COUNT − 1. All calls return the same type.
    template <class What>
    static auto with(int number, const What& what) {
        return with_one_of(number, what, P{}...);
    }

  private:
    template <class What, class First, class... Others>
    static auto with_one_of(int number, const What& what, First first, Others... others) {
        if constexpr (sizeof...(Others) > 0) {
            if (number > 0) return with_one_of(number - 1, what, others...);
        }
        return what(first);
    }
};

}  // namespace gemm
