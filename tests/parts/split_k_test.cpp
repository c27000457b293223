// Slices of K: the scheduler that hands them out, and the memory that they meet in.
#include <algorithm>
#include <vector>

#include "common/parts/split_k.hpp"
#include "common/parts/workspace.hpp"
#include "tests/support.hpp"

TEST_CASE("split-K: each k-tile of a C tile is in one slice, and slices are equally long") {
    for (const gemm::Tiles all : {gemm::Tiles{1, 1}, {3, 2}, {11, 5}}) {
        for (int k_tiles = 0; k_tiles <= 40; ++k_tiles) {
            for (int slices = 1; slices <= std::max(1, std::min(k_tiles, 17)); ++slices) {
                const gemm::SplitK<gemm::Grouped<4>> scheduler{{all, k_tiles}, slices};
                INFO(all.m << "×" << all.n << " C tiles, " << k_tiles << " k-tiles, " << slices << " slices");
                REQUIRE(scheduler.blocks() == all.m * all.n * static_cast<unsigned>(slices));
                std::vector<std::vector<int>> taken(std::size_t{all.m} * all.n,
                                                    std::vector<int>(static_cast<std::size_t>(k_tiles)));
                for (unsigned block = 0; block < scheduler.blocks(); ++block) {
                    const gemm::Slice work = scheduler.piece(block);
                    REQUIRE((work.k_tiles == k_tiles / slices || work.k_tiles == k_tiles / slices + 1));
                    REQUIRE(work.slices == slices);
                    REQUIRE(work.number == gemm::Grouped<4>::number_of(work.tile, all));
                    REQUIRE((scheduler.block_of(work.tile) == block) == (work.slice == slices - 1));
                    for (int k = work.first_k; k < work.first_k + work.k_tiles; ++k)
                        ++taken.at(work.number).at(static_cast<std::size_t>(k));
                }
                for (const std::vector<int>& tile : taken) {
                    REQUIRE(std::count(tile.begin(), tile.end(), 1) == k_tiles);
                }
            }
        }
    }
}

TEST_CASE("a workspace can begin as zeros, and there is none where the device has no room") {
    test::device();
    const gemm::Workspace some = gemm::Workspace::of_zeros(4096);
    REQUIRE(some.data() != nullptr);
    std::vector<unsigned> words(1024, 1u);
    CUDA_CHECK(cudaMemcpy(words.data(), some.data(), 4096, cudaMemcpyDeviceToHost));
    CHECK(std::count(words.begin(), words.end(), 0u) == 1024);
    CHECK(gemm::Workspace().data() == nullptr);
    CHECK(gemm::Workspace(std::size_t{1} << 60).data() == nullptr);
    CHECK(gemm::Workspace::of_zeros(std::size_t{1} << 60).data() == nullptr);
    CHECK(cudaGetLastError() == cudaSuccess);
}
