// Stand-in for the toolkit's <cuda_pipeline_primitives.h>, which <cuda_pipeline.h> has all of.
#pragma once

#include <cuda_pipeline.h>
