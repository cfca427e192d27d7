// Random numbers: which generator operators draw from, and its seed. Any thread; order of operations is program order.
#pragma once

#include <cstdint>
#include <string_view>

namespace headrace::random {

enum class Generator : uint8_t {
  kPhilox,   // counter-based: the same numbers whatever the number of threads
  kMt19937,  // the streams of MXNet 1.9.1 on the CPU, number for number
};

// Operations issued from now on draw from this generator.
void set_generator(Generator generator);
void set_generator(std::string_view name);  // "philox" or "mt19937"; raises ValueError for another name
Generator generator() noexcept;

// Starts all streams anew; operations issued before are not affected. The seed at start is 0.
void seed(int64_t value);

}  // namespace headrace::random
