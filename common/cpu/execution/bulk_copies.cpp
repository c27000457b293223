#include "common/cpu/execution/bulk_copies.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/tolerance.hpp"

namespace cpu_device {

void BulkCopies::begin_block(const Grid& grid, std::byte* dynamic_shared, std::size_t threads) {
    loads_.clear();
    stores_.clear();
    groups_.assign(threads, 0);
    arrays_.clear();
    std::size_t offset = 0;
    unsigned number = 0;
    const auto add = [&](std::byte* start, std::size_t bytes) {
        constexpr unsigned kPage = 1024;
        number = (number + kPage - 1) / kPage * kPage +
                 static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(start) % kPage);
        arrays_.push_back({start, bytes, offset, number});
        offset += bytes;
        number += static_cast<unsigned>(bytes);
    };
    for (const SharedArray& a : *grid.shared) add(shared_array_address(a), a.bytes);
    if (grid.dynamic_shared_bytes > 0) add(dynamic_shared, grid.dynamic_shared_bytes);
    if (tolerant()) number_by_address();
    images_used_ = false;
}

void BulkCopies::number_by_address() {
    constexpr std::size_t kWindow = 1u << 18;  // that a matrix descriptor can name
    const auto low = [](const Image& a) { return reinterpret_cast<std::uintptr_t>(a.start) % kWindow; };
    for (const Image& a : arrays_) {
        if (low(a) + a.bytes > kWindow) return;
        for (const Image& other : arrays_) {
            if (&a != &other && low(a) < low(other) + other.bytes && low(other) < low(a) + a.bytes) return;
        }
    }
    for (Image& a : arrays_) a.number = static_cast<unsigned>(low(a));
}

void BulkCopies::use_images() {
    if (images_used_) return;
    images_used_ = true;
    std::size_t bytes = 0;
    for (const Image& a : arrays_) bytes += a.bytes;
    images_.assign(bytes, std::byte{kGarbage});
}

bool BulkCopies::in_shared(const void* address, std::size_t bytes) const {
    const auto* const at = static_cast<const std::byte*>(address);
    return std::any_of(arrays_.begin(), arrays_.end(), [&](const Image& a) {
        return at >= a.start && at < a.start + a.bytes &&
               bytes <= static_cast<std::size_t>(a.start + a.bytes - at);
    });
}

std::byte* BulkCopies::image(std::byte* shared) {
    for (const Image& a : arrays_) {
        if (shared >= a.start && shared < a.start + a.bytes)
            return images_.data() + a.offset + (shared - a.start);
    }
    return nullptr;  // not after in_shared()
}

unsigned BulkCopies::number_of(const void* shared) const {
    const auto* const at = static_cast<const std::byte*>(shared);
    for (const Image& a : arrays_) {
        if (at >= a.start && at < a.start + a.bytes) return a.number + static_cast<unsigned>(at - a.start);
    }
    return 0;  // not after in_shared()
}

std::optional<unsigned> BulkCopies::number_near(const void* generic) const {
    const auto at = reinterpret_cast<std::intptr_t>(generic);
    const Image* nearest = nullptr;
    std::intptr_t least = kNear;
    for (const Image& a : arrays_) {
        const auto start = reinterpret_cast<std::intptr_t>(a.start),
                   end = start + static_cast<std::intptr_t>(a.bytes);
        const std::intptr_t away = at < start ? start - at : at < end ? 0 : at - end + 1;
        if (away < least) least = away, nearest = &a;
    }
    if (nearest == nullptr) return std::nullopt;
    return static_cast<unsigned>(nearest->number + (at - reinterpret_cast<std::intptr_t>(nearest->start)));
}

std::byte* BulkCopies::pointer_near(unsigned number) const {
    const Image* last = nullptr;  // that begins at that number or before it; else the first
    for (const Image& a : arrays_) {
        const bool before = a.number <= number;
        const bool better = last == nullptr || (last->number <= number ? before && a.number > last->number
                                                                       : before || a.number < last->number);
        if (better) last = &a;
    }
    if (last == nullptr) return nullptr;
    return last->start + (static_cast<std::int64_t>(number) - static_cast<std::int64_t>(last->number));
}

std::byte* BulkCopies::of_number(unsigned number) const {
    for (const Image& a : arrays_) {
        if (number >= a.number && number - a.number + kChunk <= a.bytes) return a.start + (number - a.number);
    }
    return nullptr;
}

bool BulkCopies::fetch(unsigned number, void* sixteen, Dice& dice) {
    use_images();
    std::byte* const shared = of_number(number);
    if (shared == nullptr) return false;
    std::memcpy(sixteen, dice.below(2) == 0 && !tolerant() ? image(shared) : shared, kChunk);
    return true;
}

void BulkCopies::fence() {
    use_images();
    for (const Image& a : arrays_) std::memcpy(images_.data() + a.offset, a.start, a.bytes);
}

/// Draws the order of the copy's pieces: every step-th, with a step that has no divisor in common with their
/// number.
void BulkCopies::shuffle(BulkCopy& copy, Dice& dice) const {
    const std::size_t pieces = copy.pieces();
    if (pieces == 0) return;
    copy.start = static_cast<std::uint32_t>(dice.below(pieces));
    do {
        copy.step = static_cast<std::uint32_t>(1 + dice.below(pieces));
    } while (std::gcd(static_cast<std::size_t>(copy.step), pieces) != 1);
}

void BulkCopies::start_load(BulkCopy copy, Dice& dice) {
    use_images();
    for (const Chunk& c : copy.chunks) {
        std::memset(c.shared, kGarbage, kChunk);
        std::memset(image(c.shared), kGarbage, kChunk);
    }
    shuffle(copy, dice);
    loads_.push_back(std::move(copy));
}

void BulkCopies::start_store(BulkCopy copy, Dice& dice) {
    use_images();
    shuffle(copy, dice);
    copy.taken.resize(copy.bytes());
    // Some of it is read at once, some as late as may be.
    for (std::size_t early = dice.below(copy.pieces() + 1); early > 0; --early) store_piece(copy, dice);
    stores_.push_back(std::move(copy));
}

void BulkCopies::load_piece(BulkCopy& copy) {
    const std::size_t piece = (copy.start + std::uint64_t{copy.step} * copy.done++) % copy.pieces();
    const std::size_t end = std::min((piece + 1) * BulkCopy::kPiece, copy.chunks.size());
    for (std::size_t i = piece * BulkCopy::kPiece; i < end; ++i) {
        const Chunk& c = copy.chunks[i];
        std::byte bytes[kChunk];
        if (c.from > 0 || c.to < kChunk) copy.map.fill_of(bytes);
        if (c.to > c.from) {
            std::memcpy(bytes + c.from, c.global, c.to - c.from);
            copy.map.convert(bytes + c.from, c.to - c.from);
        }
        std::memcpy(c.shared, bytes, kChunk);
        std::memcpy(image(c.shared), bytes, kChunk);
    }
}

void BulkCopies::store_piece(BulkCopy& copy, Dice& dice) {
    const std::size_t piece = (copy.start + std::uint64_t{copy.step} * copy.done++) % copy.pieces();
    const std::size_t end = std::min((piece + 1) * BulkCopy::kPiece, copy.chunks.size());
    const bool behind = dice.below(2) == 0 && !tolerant();
    for (std::size_t i = piece * BulkCopy::kPiece; i < end; ++i) {
        const Chunk& c = copy.chunks[i];
        std::memcpy(copy.taken.data() + i * kChunk, behind ? image(c.shared) : c.shared, kChunk);
    }
}

void BulkCopies::write(const BulkCopy& copy) {
    for (std::size_t i = 0; i < copy.chunks.size(); ++i) {
        const Chunk& c = copy.chunks[i];
        if (c.to > c.from) std::memcpy(c.global, copy.taken.data() + i * kChunk + c.from, c.to - c.from);
    }
}

std::uint64_t BulkCopies::wait(int thread, int pending, bool read, Dice& dice) {
    const std::uint64_t committed = groups_[static_cast<std::size_t>(thread)];
    const auto keep = static_cast<std::uint64_t>(std::max(pending, 0));
    const std::uint64_t before = committed > keep ? committed - keep : 0;
    for (BulkCopy& copy : stores_) {
        if (copy.thread != thread || copy.group >= before) continue;
        while (!copy.moved()) store_piece(copy, dice);
        copy.waited = true;
        if (!read) write(copy);
    }
    if (read) return before;
    std::erase_if(stores_, [&](const BulkCopy& c) { return c.thread == thread && c.group < before; });
    return before;
}

BulkCopies::Piece BulkCopies::bring(Dice& dice) {
    const std::size_t which = dice.below(loads_.size());
    BulkCopy& copy = loads_[which];
    const std::uint32_t piece =
        static_cast<std::uint32_t>((copy.start + std::uint64_t{copy.step} * copy.done) % copy.pieces());
    const std::size_t first = piece * BulkCopy::kPiece;
    const std::uint64_t bytes = (std::min(first + BulkCopy::kPiece, copy.chunks.size()) - first) * kChunk;
    load_piece(copy);
    copy.come += bytes;
    if (!copy.moved()) return {copy.mbarrier, bytes, &copy};
    last_ = std::move(copy);
    loads_.erase(loads_.begin() + static_cast<std::ptrdiff_t>(which));
    return {last_.mbarrier, bytes, &last_};
}

std::uint64_t BulkCopies::to_come(const void* mbarrier, const BulkCopy*& one) const {
    std::uint64_t bytes = 0;
    one = nullptr;
    for (const BulkCopy& copy : loads_) {
        if (copy.mbarrier != mbarrier) continue;
        if (one == nullptr) one = &copy;
        bytes += copy.bytes() - copy.come;
    }
    return bytes;
}

const BulkCopy* BulkCopies::left_behind() {
    if (!loads_.empty()) return &loads_.front();
    for (const BulkCopy& copy : stores_) {
        if (!copy.waited) return &copy;
    }
    for (const BulkCopy& copy : stores_) write(copy);
    stores_.clear();
    return nullptr;
}

}  // namespace cpu_device
