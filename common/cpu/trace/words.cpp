#include "common/cpu/trace/words.hpp"

namespace cpu_device::trace {
namespace {

using gemm::FindingId;

/// In a cluster with the number of its block there.
std::string who(const Finding::Side& side) {
    const auto& t = side.thread.value();
    return "thread (" + std::to_string(t[0]) + "," + std::to_string(t[1]) + "," + std::to_string(t[2]) + ")" +
           (side.rank ? " of block " + std::to_string(*side.rank) : "");
}

/// Whose array it is, where that is not the accessing thread's block.
std::string of_block(const Finding& f) {
    if (!f.array_rank || f.array_rank == f.access.rank) return {};
    return " of block " + std::to_string(*f.array_rank);
}

std::string place(const Finding::Side& side) {
    return side.file + ":" + std::to_string(side.line);
}

/// "thread (3,1,0) writes ".
std::string who_does(const Finding::Side& side) {
    return who(side) + (side.write ? " writes " : " reads ");
}

/// "A[3][17]", "As + 68 bytes": what lies there.
std::string element(const Finding& f) {
    if (f.array.empty()) return "memory";
    if (!f.row) return f.array + " + " + std::to_string(f.offset) + " bytes" + of_block(f);
    return f.array + "[" + std::to_string(*f.row) + "][" + std::to_string(*f.column) + "]";
}

/// "full[1]": the mbarrier that lies there.
std::string mbarrier(const Finding& f) {
    if (f.bytes % 8 != 0 || f.bytes > 512 || f.offset % 8 != 0) return element(f);
    return (f.bytes == 8 ? f.array : f.array + "[" + std::to_string(f.offset / 8) + "]") + of_block(f);
}

/// "5 bytes past the end of As".
std::string missed(const Finding& f) {
    if (f.array.empty()) return "shared memory that the kernel does not have";
    const bool before = f.offset < 0;
    // One that begins in the array reaches past its end.
    if (!before && f.offset < f.bytes) return "past the end of " + f.array + of_block(f);
    const std::int64_t distance = before ? -f.offset : f.offset - f.bytes + 1;
    return std::to_string(distance) + (distance == 1 ? " byte " : " bytes ") +
           (before ? "before the start of " : "past the end of ") + f.array + of_block(f);
}

std::string outside(const Finding& f) {
    if (!f.row) return missed(f);
    return element(f) + ", outside " + f.array + " of " + std::to_string(f.rows) + "×" +
           std::to_string(f.columns);
}

/// " that thread (0,0,0) started at kernel.cu:7".
std::string started(const Finding& f) {
    return " that " + who(f.other.value()) + " started at " + place(*f.other);
}

std::string without_block(const Finding& f) {
    const std::string at = " at " + place(f.access);
    switch (f.id) {
        case FindingId::misaligned_access:
            return who_does(f.access) + std::to_string(f.width) + " bytes of " + element(f) + at +
                   ", an address that is no multiple of " + std::to_string(f.width);
        case FindingId::host_pointer:
            return who_does(f.access) + "through a host pointer" + at + ", which a GPU cannot follow";
        case FindingId::shared_out_of_bounds:
            return who_does(f.access) + missed(f) + at +
                   (f.asked ? ": launch() asks for " + std::to_string(*f.asked) + " bytes" : "");
        case FindingId::no_dynamic_shared_memory:
            return who_does(f.access) + "dynamic shared memory" + at +
                   ": the kernel uses it and launch() asks for 0 bytes";
        case FindingId::copy_in_flight:
            return "the copy to " + element(f) + " that started at " + place(f.other.value()) +
                   " may still be under way when " + who_does(f.access) + "it" + at +
                   ": nobody has waited for it";
        case FindingId::race:
            return who(f.other.value()) + (f.other->write ? " wrote " : " read ") + element(f) + " at " +
                   place(*f.other) + " and " + who_does(f.access) + "it" + at +
                   ", with no barrier in between";
        case FindingId::load_in_flight:
            return "the load to " + element(f) + started(f) + " may still be under way when " +
                   who_does(f.access) + "it" + at + ": it has not waited for the mbarrier's phase";
        case FindingId::load_overwrites:
            return who(f.other.value()) + (f.other->write ? " wrote " : " read ") + element(f) + " at " +
                   place(*f.other) + " and the load that " + who(f.access) + " starts" + at +
                   " overwrites it, with nothing in between that orders the two";
        case FindingId::loads_overlap:
            return "the load to " + element(f) + started(f) + " may still be under way when " +
                   who(f.access) + " starts another one to the same place" + at;
        case FindingId::store_in_flight:
            return "the store from " + element(f) + started(f) + " may still be reading it when " +
                   who_does(f.access) + "it" + at +
                   ": nobody has waited for it (cp.async.bulk.wait_group.read)";
        case FindingId::no_proxy_fence:
            return who(f.other.value()) + " wrote " + element(f) + " at " + place(*f.other) + " and the " +
                   (f.access.write ? "load" : "store") + " that " + who(f.access) + " starts" + at +
                   (f.access.write ? " overwrites it" : " reads it") +
                   ", with no fence.proxy.async in between: the copy engine need not see what was written";
        case FindingId::mbarrier_not_begun:
            return who(f.access) + " uses the mbarrier " + mbarrier(f) + at + ", which " +
                   who(f.other.value()) + " begins at " + place(*f.other) +
                   ", with no barrier in between: it may come there first";
        case FindingId::mbarrier_unfenced:
            return who(f.other.value()) + " began the mbarrier " + mbarrier(f) + " at " + place(*f.other) +
                   " and the load that " + who(f.access) + " starts" + at +
                   " signals it, with no fence.mbarrier_init in between: the copy engine need not see that "
                   "it has begun";
        case FindingId::wgmma_in_flight:
            return "the wgmma that reads " + element(f) + " and" + started(f) +
                   " may still be reading it when " + who_does(f.access) + "it" + at +
                   ": it has not waited for it (wgmma.wait_group)";
        case FindingId::wgmma_unfenced:
            return who(f.other.value()) + " wrote " + element(f) + " at " + place(*f.other) +
                   " and the wgmma that " + who(f.access) + " starts" + at +
                   " reads it, with no fence.proxy.async in between: the tensor cores need not see what was "
                   "written";
        case FindingId::block_left:
            return who(f.access) + " reaches into block " + std::to_string(f.array_rank.value()) +
                   " of its cluster at " + place(f.access) + ", for " + f.array +
                   ", and that block may have returned by then: nothing makes it wait (a cluster_sync() at "
                   "the end "
                   "of the kernel does)";
        case FindingId::store_past_row:
            return "the store that " + who(f.access) + " starts" + at + " writes " + std::to_string(f.width) +
                   (f.width == 1 ? " byte" : " bytes") + " behind " +
                   (f.array.empty() ? "the end of" : element(f) + ", the end of") +
                   " a row of its tensor: the copy engine writes whole 16 bytes, so that the bytes of a row "
                   "must be a multiple of 16";
        case FindingId::out_of_bounds:
            return who_does(f.access) + outside(f) + "," + at;
        case FindingId::write_to_padding:
            return who_does(f.access) + element(f) + ", padding between the rows of " + f.array + "," + at;
        case FindingId::write_to_input:
            return who_does(f.access) + element(f) + at + ", and " + f.array + " is an input";
        case FindingId::uninitialised_read:
            return who_does(f.access) + element(f) + at + ", which nothing in the block has written";
        case FindingId::forbidden_read:
            return who_does(f.access) + element(f) + at + ", which " + f.rule + " forbids";
        case FindingId::block_race:
            return who_does(f.access) + element(f) + at + ", and so does block " +
                   std::to_string(f.other_block.value()) +
                   " in the same launch, something else: blocks run in any order, and one of the two is lost";
        case FindingId::no_kernel:
            break;  // of a whole launch: no access's, and not the tracer's
    }
    return {};
}

}  // namespace

std::string text_of(const Finding& finding) {
    return without_block(finding) + " (block " + std::to_string(finding.block) + ")";
}

}  // namespace cpu_device::trace
