// What a kernel does to memory, access by access. Only in programs whose kernels were compiled a second time
// with the access hooks (gemm_kernels(… TRACED) in cmake/lesson.cmake) and that link gemm_trace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/cpu/ptx/tensor_map.hpp"
#include "common/cpu/trace/block_history.hpp"
#include "common/facts.hpp"
#include "common/ptx/wgmma_descriptor.hpp"

namespace cpu_device::trace {

/// A matrix in device memory, row-major: what an address is called in reports, and what lies outside it.
/// Accesses to its allocation that miss the matrix, and writes to its padding, are errors.
struct Matrix {
    std::string name;
    const void* start = nullptr;
    std::int64_t rows = 0, cols = 0, pitch = 0;  // in elements
    int element_bytes = 4;
    /// Why what it holds at the beginning must not be read ("beta = 0"); may be, where it is empty. A read is
    /// a finding even if nothing comes of its value; none of what has been written since.
    std::string unreadable = {};
    bool writable = true;
    int in_byte = 1;  // elements that share a byte: 2 of 4 bits, where element_bytes is 1
    std::optional<std::int64_t> problem = {};  // of a batch, whose matrices have one name: whose this is

    /// Bytes of so many elements that lie side by side.
    std::int64_t bytes(std::int64_t elements) const {
        return (elements * element_bytes + in_byte - 1) / in_byte;
    }
    /// The element that begins at a byte, or goes on there; counted from the first.
    std::int64_t element(std::int64_t byte) const {
        const std::int64_t size = element_bytes;
        return (byte < 0 ? (byte - size + 1) / size : byte / size) * in_byte;
    }
};

/// One source line's accesses to one array, of one width and kind: what the hardware would be asked for.
struct Line {
    std::string file;
    int line = 0;
    std::string array;    // "A", "As"; "shared memory" for dynamic arrays
    bool shared = false;  // else global memory
    bool store = false;
    int width = 0;               // bytes per thread; 0: boxes of the copy engine, each a request
    bool matrix_rows = false;    // by ldmatrix or stmatrix
    std::uint64_t requests = 0;  // warp-wide instructions with at least one thread
    std::uint64_t threads = 0;   // accesses of single threads
    std::uint64_t bytes = 0;  // what the threads asked for: threads × width; of boxes what lies in the tensor
    /// Global memory: 32-byte sectors moved; ideal: the fewest that hold the bytes asked for.
    std::uint64_t sectors = 0, ideal_sectors = 0;
    /// Shared memory: passes over the banks; ideal: the fewest that move the bytes asked for, 128 at a time,
    /// and of requests of 16 bytes a lane half a warp's.
    std::uint64_t wavefronts = 0, ideal_wavefronts = 0;
    /// Threads of a warp executed the line different numbers of times. Which of them did so together was
    /// worked out from the basic blocks they went through, lowest address first, as a GPU lets those behind
    /// catch up; another compiler may lay the blocks out in another order. Totals per thread are exact.
    bool diverged = false;
    /// One request as an example, the first of the lowest block: its threads, and bytes from the start of the
    /// array.
    std::uint64_t example_block = 0;
    int example_warp = 0;
    std::vector<int> example_lanes;
    std::vector<std::uint64_t> example_offsets;
    std::shared_ptr<const TensorMap> map;  // of a box, where it has one: the example's
};

/// One source line's multiplications by warpgroups (wgmma), of one form. What they read of shared memory is
/// known, how many passes over the banks the tensor cores take for that is not.
struct Multiplication {
    std::string file;
    int line = 0;
    int rows = 64, columns = 0, depth = 16;  // of one: m64nNk16
    bool a_in_registers = false;
    gemm::ptx::Major major_a{}, major_b{};
    std::uint64_t count = 0;         // instructions, each of a warpgroup
    std::uint64_t shared_bytes = 0;  // that their descriptors name
    std::uint64_t a = 0, b = 0;      // descriptors of the first of the lowest block; no a in registers
};

/// Who stored an element of a matrix.
struct Owned {
    std::string matrix;
    std::int64_t row = 0, col = 0;
    int thread = 0;            // linear in the block
    std::int64_t problem = 0;  // of a batch
};

/// Something that is wrong. `count`: how often, at the same pair of places.
struct Finding {
    struct Side {
        bool write = false;
        std::optional<std::array<unsigned, 3>> thread = {};  // x, y, z; not of a copy (cp.async)
        std::string file = {};
        int line = 0;
        std::optional<unsigned> rank = {};  // of the thread's block, in a cluster
    };

    gemm::FindingId id{};
    Side access;                         // the later of the two
    std::optional<Side> other;           // of a race or a copy in flight: the earlier one
    std::optional<unsigned> array_rank;  // whose shared array, in a cluster
    std::string array;  // what was accessed, or missed ("A", "As"); empty where that is not known
    /// Of a matrix: the element, which may lie outside of it; and the matrix's size.
    std::optional<std::int64_t> row, column;
    std::int64_t rows = 0, columns = 0;
    std::optional<std::int64_t> problem = {};  // of a batch: whose matrix it is
    /// Of another array: where the access begins, in bytes from its start; and its size.
    std::int64_t offset = 0, bytes = 0;
    int width = 0;                       // bytes that a thread asked for, where that is what is wrong
    std::optional<std::uint64_t> asked;  // bytes of dynamic shared memory, of an access near it
    std::string rule;                    // what forbids a read: "beta = 0"
    std::uint64_t block = 0;
    std::optional<std::uint64_t> other_block;  // of a race between blocks: the one that came first
    std::string text;                          // a sentence about the first occurrence (words.cpp)
    std::uint64_t count = 0;
    /// Of accesses past a matrix's last row, or of writes past its last column: the farthest, 1 for the row
    /// or column right behind; else 0, also where one of them was not behind its matrix at all. One off and
    /// no guard at all look alike but for this.
    std::int64_t beyond = 0;
};

struct Report {
    std::string kernel;
    std::uint64_t blocks = 0, traced_blocks = 0, threads_per_block = 0;
    std::array<unsigned, 3> block{}, grid{};  // threads of a block, and blocks: x, y, z
    double barriers_per_thread = 0;
    std::vector<Line> lines;                      // by file, line, array
    std::vector<Multiplication> multiplications;  // by file, line, columns
    std::uint64_t owners_block = 0;
    std::vector<Owned> owners;      // of the lowest block that was traced
    std::vector<Finding> findings;  // in the order of their first occurrence, block by block
    std::uint64_t launches = 0;     // of all that was traced
    bool set_by_host = false;       // a matrix was, by cudaMemset or a copy
    /// Of the last launch; of a cluster all blocks. In the order in which Histories tells them.
    std::vector<BlockHistory> histories;
};

/// Traces the launches from here on. Throws gemm::Error when the program was built without hooks.
/// most_steps: accesses and basic blocks that are kept of a thread between two meetings of its warp; beyond
/// that an endless loop would fill the memory. A thread that goes on is counted as if it had parted from its
/// warp: its requests are more, its bytes the same.
void begin(std::vector<Matrix> matrices, std::size_t most_steps = std::numeric_limits<std::size_t>::max(),
           Histories histories = {});
/// Ends it; what the last launch did. Also after a launch that threw.
Report end();

/// Wavefronts of a warp's request to shared memory. addresses: one byte address per thread that takes part,
/// in lane order, with `lanes` telling which those are; width: 1 … 16 bytes per thread. See banks.cpp for the
/// rule.
int wavefronts(std::uint32_t lanes, const std::uint64_t* addresses, int width, bool store);
/// 32-byte sectors that the request touches.
int sectors(const std::uint64_t* addresses, int count, int width);

}  // namespace cpu_device::trace
