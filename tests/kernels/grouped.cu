// Grouped BF16 products, of sizes, pitches and addresses of their own, into C or, where the variant has one,
// into a D of FP32. The grid has, for each group, the tiles of the largest one's sizes.
#include <algorithm>
#include <utility>
#include <vector>

#include "tests/kernels/elements.hpp"
#include "tests/kernels/kernels.hpp"

namespace slow {
namespace {

using gemm::Group;

/// What the kernel does with groups. Mistakes differ in one of these.
struct Right {
    /// What the group of that number is taken for.
    static __device__ Group of(const Group* groups, std::int64_t number) { return groups[number]; }
    static __device__ bool inside(std::int64_t row, std::int64_t col, const Group& g) {
        return row < g.M && col < g.N;
    }
    static std::int64_t count(const gemm::Problem& p) { return p.batch; }
    /// What happens to the list on its way to the device.
    static void change(std::vector<Group>&) {}
};

struct FirstAlone : Right {
    static std::int64_t count(const gemm::Problem& p) { return p.batch < 1 ? p.batch : 1; }
};
struct UpToEmpty : Right {  // the first group without elements ends all
    static std::int64_t count(const gemm::Problem& p) {
        std::int64_t count = 0;
        for (const Group& g : p.groups) {
            if (g.M == 0 || g.N == 0) break;
            ++count;
        }
        return count;
    }
};
struct WithoutStepsLeftOut : Right {  // K = 0 still scales C
    static __device__ bool inside(std::int64_t row, std::int64_t col, const Group& g) {
        return g.K > 0 && row < g.M && col < g.N;
    }
};
struct OneElementLeftOut : Right {
    static __device__ bool inside(std::int64_t row, std::int64_t col, const Group& g) {
        return g.M * g.N > 1 && row < g.M && col < g.N;
    }
};
struct SizesOfFirst : Right {
    static __device__ Group of(const Group* groups, std::int64_t number) {
        Group g = groups[number];
        g.M = groups[0].M, g.N = groups[0].N;
        return g;
    }
};
struct StepsOfFirst : Right {
    static __device__ Group of(const Group* groups, std::int64_t number) {
        Group g = groups[number];
        g.K = groups[0].K;
        return g;
    }
};
struct PitchesOfFirst : Right {
    static __device__ Group of(const Group* groups, std::int64_t number) {
        Group g = groups[number];
        g.lda = groups[0].lda, g.ldb = groups[0].ldb;
        return g;
    }
};
struct TightRows : Right {
    static __device__ Group of(const Group* groups, std::int64_t number) {
        Group g = groups[number];
        g.lda = g.K;
        return g;
    }
};
struct WeightsOfFirst : Right {  // B of the first group for all, as one expert for all tokens
    static __device__ Group of(const Group* groups, std::int64_t number) {
        Group g = groups[number];
        g.B = groups[0].B;
        return g;
    }
};
struct PackedBehindFirst : Right {  // A's of all groups one behind the other, without what lies between them
    static void change(std::vector<Group>& groups) {
        const std::uint16_t* end = nullptr;
        for (Group& g : groups) {
            if (end != nullptr) g.A = end;
            end = static_cast<const std::uint16_t*>(g.A) + g.M * g.lda;
        }
    }
};
struct ResultsSwapped : Right {  // of the first two groups, each stored into the other's place
    static void change(std::vector<Group>& groups) {
        if (groups.size() < 2) return;
        std::swap(groups[0].C, groups[1].C), std::swap(groups[0].ldc, groups[1].ldc);
        std::swap(groups[0].D, groups[1].D), std::swap(groups[0].ldd, groups[1].ldd);
    }
};
struct EmptyNotCounted : Right {  // the grid has no blocks for them, and so none for the last groups
    static std::int64_t count(const gemm::Problem& p) {
        return std::count_if(p.groups.begin(), p.groups.end(), [](const Group& g) { return g.M * g.N > 0; });
    }
};

template <class Rule>
__global__ void gemm_grouped(const Group* groups, std::int64_t M, std::int64_t N, float alpha, float beta) {
    const auto [number, row, col] = place_in_batch(M, N);
    const Group g = Rule::of(groups, number);
    if (!Rule::inside(row, col, g)) return;
    const auto* const A = static_cast<const std::uint16_t*>(g.A);
    const auto* const B = static_cast<const std::uint16_t*>(g.B);
    auto* const C = static_cast<std::uint16_t*>(g.C);
    float acc = 0.0f;
    const std::int64_t k_end = alpha == 0.0f ? 0 : g.K;
    for (std::int64_t k = 0; k < k_end; ++k) acc += bf16(A[row * g.lda + k]) * bf16(B[k * g.ldb + col]);
    float x = alpha * acc;
    if (beta != 0.0f) x += beta * bf16(C[row * g.ldc + col]);
    if (g.D != nullptr) {
        static_cast<float*>(g.D)[row * g.ldd + col] = x;
    } else {
        C[row * g.ldc + col] = to_bf16(x);
    }
}

/// The groups in device memory.
template <class Rule>
gemm::Plan prepare(const gemm::Problem& p) {
    std::vector<Group> groups = p.groups;
    Rule::change(groups);
    void* device = nullptr;
    if (groups.empty() || cudaMalloc(&device, groups.size() * sizeof(Group)) != cudaSuccess) return nullptr;
    cudaMemcpy(device, groups.data(), groups.size() * sizeof(Group), cudaMemcpyHostToDevice);
    return {device, [](void* memory) { cudaFree(memory); }};
}

template <class Rule>
void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    const std::int64_t count = Rule::count(p);
    if (p.M == 0 || p.N == 0 || count == 0) return;
    gemm_grouped<Rule><<<grid_of_batch(p, count), kBlock, 0, stream>>>(static_cast<const Group*>(plan), p.M,
                                                                       p.N, p.alpha, p.beta);
}

constexpr gemm::Variant kVariant{
    .A = gemm::DType::bf16, .B = gemm::DType::bf16, .C = gemm::DType::bf16, .batch = gemm::Batch::grouped};
constexpr gemm::Variant with_d() {
    gemm::Variant variant = kVariant;
    variant.D = gemm::DType::fp32;
    return variant;
}

template <class Rule>
gemm::Offer offer_of(const gemm::Variant& variant) {
    return {.variant = variant,
            .kernel = reinterpret_cast<const void*>(&gemm_grouped<Rule>),
            .architectures = {.from = 75},
            .configuration = {.tile = kTile, .block = kBlock}};
}
template <class Rule>
const gemm::Offer kOffers[] = {offer_of<Rule>(kVariant), offer_of<Rule>(with_d())};

template <class Rule>
gemm::Lesson lesson(const char* name) {
    return {.name = name,
            .ladder = "slow",
            .variants = kOffers<Rule>,
            .prepare = prepare<Rule>,
            .launch = launch<Rule>,
            .owner_in_batch = owner_in_batch};
}

}  // namespace

const gemm::Lesson grouped = lesson<Right>("slow_grouped");

std::span<const gemm::Lesson> grouped_mistakes() {
    static const gemm::Lesson mistakes[] = {lesson<FirstAlone>("first_group_alone"),
                                            lesson<UpToEmpty>("up_to_an_empty_group"),
                                            lesson<WithoutStepsLeftOut>("without_steps_left_out"),
                                            lesson<OneElementLeftOut>("one_element_left_out"),
                                            lesson<SizesOfFirst>("sizes_of_first_group"),
                                            lesson<StepsOfFirst>("steps_of_first_group"),
                                            lesson<PitchesOfFirst>("pitches_of_first_group"),
                                            lesson<TightRows>("tight_rows"),
                                            lesson<WeightsOfFirst>("weights_of_first_group"),
                                            lesson<PackedBehindFirst>("packed_behind_first_group"),
                                            lesson<ResultsSwapped>("results_of_two_groups_swapped"),
                                            lesson<EmptyNotCounted>("empty_groups_not_counted")};
    return mistakes;
}

}  // namespace slow
