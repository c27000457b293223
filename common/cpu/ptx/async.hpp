// What common/ptx/mbarrier.hpp and common/ptx/tma.hpp call on the CPU device. The instructions are described
// there.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

namespace cpu_device {

void mbarrier_init(void* barrier, unsigned arrivals, Site site);
void mbarrier_inval(void* barrier, Site site);
void mbarrier_expect_tx(void* barrier, unsigned bytes, Site site);
void mbarrier_arrive(void* barrier, unsigned count, Site site);
void mbarrier_arrive_expect_tx(void* barrier, unsigned bytes, Site site);
/// Waits until it is so; but the first answer is false where it is not so yet, and now and then a later one:
/// a kernel must ask again.
bool mbarrier_is_complete(void* barrier, unsigned parity, Site site);
/// Asks until it is so. (A loop in the kernel would part the threads of a warp for the tracer: some ask once
/// more.)
void mbarrier_wait(void* barrier, unsigned parity, Site site);
void fence_mbarrier_init();
void fence_proxy_async();

/// at: `rank` coordinates.
void tensor_load(void* shared, const CUtensorMap& map, const int* at, int rank, void* barrier, Site site);
void tensor_store(const CUtensorMap& map, const int* at, int rank, const void* shared, Site site);
void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier, Site site);
void bulk_store(void* global, const void* shared, unsigned bytes, Site site);
void bulk_commit();
/// read: until they have read shared memory; else also until they have written.
void bulk_wait(int pending_groups, bool read);

}  // namespace cpu_device
