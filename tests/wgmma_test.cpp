// wgmma, on a GPU and on the CPU device alike.
#include <vector>

#include "tests/support.hpp"
#include "tests/wgmma_cases.hpp"

TEST_CASE("wgmma: random layouts give the sums that their descriptors say") {
    if (test::device().sm < 90 || test::device().sm >= 100) {
        test::skip("wgmma is for compute capability 9.0 alone");
        return;
    }
    for (const test::WgmmaMode& mode : test::wgmma_modes()) {
        for (std::uint64_t i = 0; i < (test::all() ? 100u : 2u); ++i) {
            const test::WgmmaRun run = test::draw_wgmma(mode, test::seed(), i);
            INFO(mode.name << ", case " << i << ": " << run.text());
            CHECK((test::wgmma_on_device(run) == test::wgmma_by_definition(run)));
        }
    }
}
