// Random numbers that are the same everywhere, which the standard library's distributions do not promise.
#pragma once

#include <cstdint>
#include <string_view>

namespace test {

/// Of case `index` of what is called `name` (Vigna, splitmix64).
class Numbers {
  public:
    Numbers(std::string_view name, std::uint64_t seed, std::uint64_t index) {
        std::uint64_t number = 0;
        for (const char c : name) number = number * 131 + static_cast<unsigned char>(c);
        state_ = (seed + number) * 0x2545f4914f6cdd1d + index * 1000003;
    }
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    /// first … last.
    std::int64_t from(std::int64_t first, std::int64_t last) {
        return first + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(last - first + 1));
    }

  private:
    std::uint64_t state_;
};

}  // namespace test
