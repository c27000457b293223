// Copies boxes of 8 × 64 numbers: what of the copy engine a call's tensor maps reach.
#include <cuda.h>

__global__ void copied(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
    __shared__ alignas(128) float box[8][64];
    __shared__ alignas(8) unsigned long long full;
    const unsigned at = __cvta_generic_to_shared(box), barrier = __cvta_generic_to_shared(&full);
    const int column = blockIdx.x * 64, row = blockIdx.y * 8;
    if (threadIdx.x == 0) {
        asm volatile(
            "mbarrier.init.shared.b64 [%0], 1;\n fence.mbarrier_init.release.cluster;" ::"r"(barrier));
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(2048));
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
            "%4}], [%2];" ::"r"(at),
            "l"(&from), "r"(barrier), "r"(column), "r"(row));
        asm volatile(
            "{\n.reg .pred P;\nWAIT:\nmbarrier.try_wait.parity.shared.b64 P, [%0], 0;\n@!P bra WAIT;\n}" ::
                "r"(barrier));
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&to),
                     "r"(at), "r"(column), "r"(row));
        asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group.read 0;");
    }
}
