#include "tests/ptx/cluster_cases.hpp"

#include <cstring>

#include "common/tma/tensor_map.hpp"
#include "tests/device_array.hpp"
#include "tests/numbers.hpp"

namespace test {
namespace {

using kernels::kTmaUntouched;

struct Shown {
    std::string text;  // of the case
    Bytes got, expected;
};

std::string text(const dim3& v) {
    return std::to_string(v.x) + "×" + std::to_string(v.y) + "×" + std::to_string(v.z);
}

/// Special registers, of a random grid of random clusters.
Shown numbers(std::uint64_t seed, std::uint64_t index) {
    Numbers n("cluster numbers", seed, index);
    const auto draw = [&](std::int64_t most) { return static_cast<unsigned>(n.from(1, most)); };
    dim3 cluster(draw(8));
    cluster.y = draw(8 / cluster.x);
    cluster.z = draw(8 / cluster.x / cluster.y);
    const dim3 count(draw(4), draw(3), draw(3));
    const dim3 grid(count.x * cluster.x, count.y * cluster.y, count.z * cluster.z);
    const DeviceArray<unsigned> out(std::size_t{grid.x} * grid.y * grid.z * kernels::kClusterWords);
    kernels::cluster_numbers(grid, cluster, out.data());
    std::vector<unsigned> expected;
    for (unsigned z = 0; z < grid.z; ++z) {
        for (unsigned y = 0; y < grid.y; ++y) {
            for (unsigned x = 0; x < grid.x; ++x) {
                const dim3 in(x % cluster.x, y % cluster.y, z % cluster.z);
                expected.push_back((in.z * cluster.y + in.y) * cluster.x + in.x);
                expected.push_back(cluster.x * cluster.y * cluster.z);
                for (const dim3& all :
                     {in, cluster, dim3(x / cluster.x, y / cluster.y, z / cluster.z), count}) {
                    expected.push_back(all.x);
                    expected.push_back(all.y);
                    expected.push_back(all.z);
                }
            }
        }
    }
    return {"grid " + text(grid) + ", clusters " + text(cluster), bytes_of(out.host()), bytes_of(expected)};
}

/// Boxes of the same kind as single blocks load, for random blocks of a cluster.
Shown multicast(CUtensorMapSwizzle swizzle, std::uint64_t seed, std::uint64_t index) {
    const TmaMode* mode = nullptr;
    for (const TmaMode& m : tma_modes()) {
        if (mode == nullptr && !m.store && m.swizzle == swizzle) mode = &m;
    }
    const TmaRun run = draw_tma(*mode, seed, index);
    Numbers n("multicast", seed, index + 1000 * static_cast<std::uint64_t>(swizzle));
    kernels::MulticastCase c{};
    c.box = run.box;
    c.blocks = static_cast<unsigned>(n.from(1, kernels::kMostClusterBlocks));
    std::string told = std::to_string(c.blocks) + " blocks";
    for (int phase = 0; phase < c.box.phases; ++phase) {
        c.issuer[phase] = static_cast<unsigned>(n.from(0, c.blocks - 1));
        c.mask[phase] = static_cast<std::uint16_t>(n.from(1, (1 << c.blocks) - 1));
        told += ", " + std::to_string(c.issuer[phase]) + " for mask " + std::to_string(c.mask[phase]);
    }
    const DeviceArray<std::uint8_t> tensor(run.tensor);
    gemm::TensorMapFields fields = run.fields;
    fields.address = tensor.data() + run.address;
    c.box.map = gemm::tensor_map(fields);
    const std::size_t bytes = c.box.bytes, blocks = c.blocks;
    const DeviceArray<std::uint8_t> out(bytes * blocks * static_cast<std::size_t>(c.box.phases));
    kernels::multicast(c, out.data());

    // A block sees those boxes that come to it, as if there were no others.
    std::vector<std::uint8_t> expected(out.host().size());
    for (unsigned block = 0; block < c.blocks; ++block) {
        TmaRun mine = run;
        mine.box.phases = 0;
        for (int phase = 0; phase < c.box.phases; ++phase) {
            if ((c.mask[phase] >> block & 1) == 0) continue;
            std::memcpy(mine.box.at[mine.box.phases++], run.box.at[phase], sizeof run.box.at[phase]);
        }
        const std::vector<std::uint8_t> boxes = tma_by_definition(*mode, mine);
        std::size_t come = 0;
        for (int phase = 0; phase < c.box.phases; ++phase) {
            come += c.mask[phase] >> block & 1;
            std::uint8_t* const to =
                expected.data() + (static_cast<std::size_t>(phase) * blocks + block) * bytes;
            if (come == 0) {
                std::memset(to, kTmaUntouched, bytes);
            } else {
                std::memcpy(to, boxes.data() + (come - 1) * bytes, bytes);
            }
        }
    }
    return {told + "; " + run.text(), out.host(), expected};
}

Shown exchange(std::uint64_t seed, std::uint64_t index) {
    Numbers n("exchange", seed, index);
    const auto draw = [&](std::int64_t least, std::int64_t most) {
        return static_cast<unsigned>(n.from(least, most));
    };
    kernels::ExchangeCase c{};
    c.blocks = draw(1, kernels::kMostClusterBlocks);
    c.threads = 1u << draw(0, 8);
    c.rounds = draw(1, 5);
    c.shift = draw(0, c.blocks - 1);
    c.other = draw(0, c.blocks - 1);
    c.factor = 2 * draw(0, 100) + 1;
    c.relaxed_barrier = draw(0, 1) == 1;
    const DeviceArray<unsigned> out(std::size_t{c.rounds} * c.blocks * c.threads * 2);
    kernels::exchange(c, out.data());
    std::vector<unsigned> expected;
    for (unsigned round = 0; round < c.rounds; ++round) {
        // box[block][place]
        std::vector<unsigned> box(std::size_t{c.blocks} * c.threads);
        for (unsigned block = 0; block < c.blocks; ++block) {
            for (unsigned t = 0; t < c.threads; ++t)
                box[std::size_t{(block + c.shift) % c.blocks} * c.threads + t * c.factor % c.threads] =
                    ((round + 1) * c.blocks + block) * c.threads + t;
        }
        for (unsigned block = 0; block < c.blocks; ++block) {
            for (unsigned t = 0; t < c.threads; ++t) {
                expected.push_back(box[std::size_t{block} * c.threads + t]);
                expected.push_back(
                    box[std::size_t{(block + c.other) % c.blocks} * c.threads + t * c.factor % c.threads]);
            }
        }
    }
    return {std::to_string(c.blocks) + " blocks of " + std::to_string(c.threads) + " threads, " +
                std::to_string(c.rounds) + " rounds, shift " + std::to_string(c.shift) + ", other " +
                std::to_string(c.other) + ", factor " + std::to_string(c.factor),
            bytes_of(out.host()), bytes_of(expected)};
}

}  // namespace

std::vector<RandomMode> cluster_random() {
    std::vector<RandomMode> all;
    // What a case is, is known when it has run.
    const auto add = [&](const char* name, const auto& run) {
        all.push_back({name, [run](std::uint64_t seed, std::uint64_t index) {
                           const Shown shown = run(seed, index);
                           return RandomCase{shown.text, [shown] { return shown.got; },
                                             [shown] { return shown.expected; }};
                       }});
    };
    const auto multicast_of = [](CUtensorMapSwizzle swizzle) {
        return [swizzle](std::uint64_t seed, std::uint64_t index) { return multicast(swizzle, seed, index); };
    };
    add("special registers", numbers);
    add("multicast", multicast_of(CU_TENSOR_MAP_SWIZZLE_NONE));
    add("multicast, swizzle 32", multicast_of(CU_TENSOR_MAP_SWIZZLE_32B));
    add("multicast, swizzle 64", multicast_of(CU_TENSOR_MAP_SWIZZLE_64B));
    add("multicast, swizzle 128", multicast_of(CU_TENSOR_MAP_SWIZZLE_128B));
    add("another block's shared memory, and arrivals there", exchange);
    return all;
}

const std::vector<ClusterRefusal>& cluster_refusals() {
    static const std::vector<ClusterRefusal> all = {
        {2, 2, false},
        {3, 2, true},
        {8, 8, false},
        {16, 16, true},
        {9, 9, true},
        {dim3(4, 2), dim3(4, 2), false},
        {dim3(4, 4), dim3(4, 4), true},
        {dim3(2, 2, 2), dim3(2, 2, 2), false},
        {dim3(2, 3), dim3(1, 2), true},
        {dim3(6, 5), dim3(3, 1), false},
        {4, dim3(2, 2), true},
    };
    return all;
}

}  // namespace test
