// A persistent GEMM in BF16 by wgmma, whose consumers have tiles of C of their own and take turns at the
// tensor cores, or share one; in clusters of two blocks with multicast, or without. Results leave by TMA
// where C allows it. Any size, alpha, beta and pitches. What 13's steps will need of the CPU device is in it;
// no lesson has all of this yet.
#pragma once

#include "common/gemm.hpp"

namespace kernels {

enum class PingPongPolicy { turns, small, together, clusters, clusters_together };
gemm::Lesson ping_pong(PingPongPolicy policy);

enum class PingPongMistake {
    none,
    no_turn,       // consumers do not wait for each other's products
    no_wait_read,  // results overwritten before the copy engine has read them
    no_fence,      // between the threads' results and the copy engine
};
/// PingPongPolicy::small, wrong in this way.
gemm::Lesson ping_pong_mistake(PingPongMistake mistake);

}  // namespace kernels
