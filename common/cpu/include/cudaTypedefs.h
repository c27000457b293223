// Stand-in for the toolkit's <cudaTypedefs.h>: the types of the driver's functions that the CPU device has.
#pragma once

#include <cuda.h>

using PFN_cuTensorMapEncodeTiled_v12000 = decltype(&cuTensorMapEncodeTiled);
using PFN_cuTensorMapEncodeTiled = PFN_cuTensorMapEncodeTiled_v12000;
