// Shares of k-tiles: the scheduler that hands them out.
#include <algorithm>
#include <vector>

#include "common/parts/stream_k.hpp"
#include "tests/support.hpp"

namespace {

using Scheduler = gemm::StreamK<gemm::Grouped<4>>;

/// A worker's pieces, in its order.
std::vector<gemm::Piece> pieces_of(const Scheduler& scheduler, unsigned worker) {
    std::vector<gemm::Piece> pieces{scheduler.first_of(worker)};
    for (gemm::Piece work = pieces[0]; scheduler.advance(work, worker);) pieces.push_back(work);
    return pieces;
}

void require_division(const Scheduler& s) {
    INFO(s.size.tiles.m << "×" << s.size.tiles.n << " C tiles, " << s.size.k_tiles << " k-tiles, "
                        << s.workers << " workers, " << s.shared << " shared C tiles");
    const unsigned tiles = s.size.tiles.m * s.size.tiles.n;
    std::vector<std::vector<int>> taken(tiles, std::vector<int>(static_cast<std::size_t>(s.size.k_tiles)));
    std::vector<unsigned> ends(tiles, s.workers);  // the worker that has a C tile's last k-tile
    std::vector<std::vector<unsigned>> others(tiles);
    std::vector<unsigned> fetched(tiles);
    unsigned most_whole = 0, fewest_whole = tiles;
    for (unsigned worker = 0; worker < s.workers; ++worker) {
        const std::vector<gemm::Piece> pieces = pieces_of(s, worker);
        int in_share = 0;
        unsigned whole = 0;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            const gemm::Piece& work = pieces[i];
            REQUIRE(work.number == gemm::Grouped<4>::number_of(work.tile, s.size.tiles));
            REQUIRE((work.k_tiles > 0 || s.size.k_tiles == 0));
            for (int k = work.first_k; k < work.first_k + work.k_tiles; ++k)
                ++taken.at(work.number).at(static_cast<std::size_t>(k));
            if (work.number < s.shared) {
                in_share += work.k_tiles;
            } else {
                ++whole;
            }
            if (s.ends(work)) {
                REQUIRE(ends[work.number] == s.workers);
                ends[work.number] = worker;
                fetched[work.number] = s.others_of(work, worker);
            } else {
                REQUIRE(i == 0);  // it waits for nobody before it leaves this one
                others[work.number].push_back(worker);
            }
        }
        REQUIRE((in_share == s.share_of(worker)));
        most_whole = std::max(most_whole, whole), fewest_whole = std::min(fewest_whole, whole);
    }
    REQUIRE(most_whole <= fewest_whole + 1);
    for (unsigned number = 0; number < tiles; ++number) {
        REQUIRE(std::count(taken[number].begin(), taken[number].end(), 1) == s.size.k_tiles);
        REQUIRE(ends[number] < s.workers);
        REQUIRE(s.block_of(gemm::Grouped<4>::at(number, s.size.tiles)) == ends[number]);
        // Those that leave a part of it are numbered just below the one that fetches.
        REQUIRE(others[number].size() == fetched[number]);
        for (std::size_t i = 0; i < others[number].size(); ++i)
            REQUIRE(others[number][i] == ends[number] - fetched[number] + i);
    }
}

}  // namespace

TEST_CASE(
    "stream-K: each k-tile is computed once, shares are equal, and who waits does so for lower numbers") {
    for (const gemm::Tiles all : {gemm::Tiles{1, 1}, {3, 2}, {11, 5}}) {
        const unsigned tiles = all.m * all.n;
        for (const int k_tiles : {1, 2, 3, 7, 24, 40}) {
            for (const unsigned shared : {1u, 2u, tiles / 2, tiles}) {
                if (shared == 0 || shared > tiles) continue;
                for (unsigned workers = 1; workers <= std::min(shared * static_cast<unsigned>(k_tiles), 70u);
                     ++workers)
                    require_division(Scheduler::over({all, k_tiles}, workers, shared));
            }
        }
        for (const int k_tiles : {0, 1, 9}) {
            for (unsigned workers = 1; workers <= tiles; ++workers)
                require_division(Scheduler::over({all, k_tiles}, workers, 0));
        }
    }
    // More k-tiles than 32 bits count.
    const Scheduler large = Scheduler::over({{3, 2}, 1'500'000'001}, 5, 6);
    int total = 0;
    for (unsigned worker = 0; worker < 5; ++worker) {
        std::int64_t in_share = 0;
        for (const gemm::Piece& work : pieces_of(large, worker)) {
            in_share += work.k_tiles;
            total += large.ends(work) ? 1 : 0;
        }
        CHECK(in_share == large.share_of(worker));
    }
    CHECK(total == 6);
}
