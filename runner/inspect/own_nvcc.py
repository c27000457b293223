"""A CUDA source that was not written for this course, compiled by nvcc: for its machine code, and to be timed on a GPU."""

from __future__ import annotations

from pathlib import Path

from runner.core.compiling import named_lines
from runner.inspect import disassembly
from runner.inspect.own import Options, Variant, flags_of, source_of, text_of
from runner.inspect.own_source import foreign

_MAPS = "::own_kernel_maps::tensor_map"
# In front of the file's text, which may define anything: nothing of the course is included there.
_HEAD = """#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
extern "C" void own_kernel_map(CUtensorMap* map, int type, void* matrix, int rows, int columns, int box_rows, int box_columns,
    int swizzle, long long pitch);
namespace own_kernel_maps {
struct Map {
    CUtensorMap* map;
    operator const CUtensorMap*() const { return map; }
    operator const CUtensorMap&() const { return *map; }
};
inline int type_of(const float*) { return CU_TENSOR_MAP_DATA_TYPE_FLOAT32; }
inline int type_of(const __half*) { return CU_TENSOR_MAP_DATA_TYPE_FLOAT16; }
inline int type_of(const __nv_bfloat16*) { return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16; }
template <class Element_>
Map tensor_map(Element_* matrix, int rows, int columns, int box_rows, int box_columns, int swizzle = 128, long long pitch = 0) {
    static CUtensorMap maps[16];
    static unsigned made = 0;
    CUtensorMap& map = maps[made++ % 16];
    own_kernel_map(&map, own_kernel_maps::type_of(matrix), matrix, rows, columns, box_rows, box_columns, swizzle, pitch);
    return {&map};
}
}
"""
# Beside the descriptor: what the call's maps are made with.
MAKES_MAPS = """#include "common/error.hpp"
#include "common/tma/tensor_map.hpp"
extern "C" void own_kernel_map(CUtensorMap* map, int type, void* matrix, int rows, int columns, int box_rows, int box_columns,
    int swizzle, long long pitch) {
    if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
        throw gemm::Error("tensor_map() takes a swizzle of 0, 32, 64 or 128 bytes.");
    gemm::TensorMapFields fields;
    fields.type = static_cast<CUtensorMapDataType>(type);
    fields.address = matrix;
    fields.sizes[0] = static_cast<cuuint64_t>(columns);
    fields.sizes[1] = static_cast<cuuint64_t>(rows);
    const cuuint64_t bytes = fields.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ? 4 : 2;
    fields.strides[0] = static_cast<cuuint64_t>(pitch == 0 ? columns : pitch) * bytes;
    fields.box[0] = static_cast<cuuint32_t>(box_columns);
    fields.box[1] = static_cast<cuuint32_t>(box_rows);
    fields.swizzle = swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                     : swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                     : swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                     : CU_TENSOR_MAP_SWIZZLE_NONE;
    *map = gemm::tensor_map(fields);
}
"""


def _write(file: Path, text: str, folder: Path) -> Path:
    made = folder / "own.cu"
    made.write_text(_HEAD + named_lines(str(file), foreign().without_main(text)), encoding="utf-8")
    return made


def with_call(file: Path, options: Options, folder: Path) -> tuple[Path, list[str], list[str], Variant]:
    """Writes the file's text with the call behind it into the folder: the file there, what nvcc is told besides, what was guessed
    (a sentence each), and the types and the layout."""
    source = source_of(file, options, _MAPS)
    return _write(file, source.text, folder), ["-w", *source.flags], source.said, source.variant


def as_it_stands(file: Path, options: Options, folder: Path) -> tuple[Path, list[str]]:
    """The same without a call."""
    text = text_of(file, options)
    return _write(file, text, folder), ["-w", *flags_of(text, options)]


def architecture(given: str | None) -> str:
    """What is asked for; else the GPU's own or 90, with the instructions that it alone has, where there are any: 90a."""
    found = disassembly.architecture(given)
    return f"{found}a" if given is None and int(found) >= 90 else found
