#include "ops/sort/sort_keys.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "backend/cpu/parallel.h"

namespace headrace {
namespace {

constexpr int64_t kComparisons = 96;  // up to here comparing is quicker than counting digits
constexpr int64_t kLong = 1 << 17;    // from here on wider digits save a pass over memory
constexpr int64_t kPart = 1 << 16;    // keys that justify a thread
constexpr double kNsPerKeyAndPass = 1.5;

inline uint64_t digits_of(uint32_t key) noexcept { return key; }
inline uint64_t digits_of(uint64_t key) noexcept { return key; }
template <class Key>
uint64_t digits_of(const KeyAndPosition<Key>& pair) noexcept {
  return pair.key;
}

// One pass of a stable counting sort by digit `shift`, split into parts that each count and move their own stretch.
template <int kBits, class K>
class DigitPass {
 public:
  static constexpr size_t kBuckets = size_t{1} << kBits;

  DigitPass(int64_t n, int64_t parts) : n_(n), parts_(parts), counts_(static_cast<size_t>(parts)) {}

  // False when all keys have the same digit: nothing is to be moved.
  bool run(const K* from, K* to, int shift) {
    each_part([&](int64_t part, int64_t begin, int64_t end) {
      Counts& counts = counts_[static_cast<size_t>(part)];
      counts.fill(0);
      for (int64_t i = begin; i < end; ++i) ++counts[digit(from[i], shift)];
    });
    if (!to_positions()) return false;
    each_part([&](int64_t part, int64_t begin, int64_t end) {
      Counts& next = counts_[static_cast<size_t>(part)];
      for (int64_t i = begin; i < end; ++i) to[next[digit(from[i], shift)]++] = from[i];
    });
    return true;
  }

 private:
  using Counts = std::array<int64_t, kBuckets>;

  static size_t digit(const K& key, int shift) noexcept { return (digits_of(key) >> shift) & (kBuckets - 1); }

  // From how many there are to where the first of each goes.
  bool to_positions() {
    int64_t position = 0;
    for (size_t b = 0; b < kBuckets; ++b) {
      const int64_t before = position;
      for (Counts& counts : counts_) position += std::exchange(counts[b], position);
      if (position - before == n_) return false;
    }
    return true;
  }

  template <class F>
  void each_part(F&& f) const {
    parallel_for(parts_, 1, static_cast<double>(n_) * kNsPerKeyAndPass, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) f(p, p * n_ / parts_, (p + 1) * n_ / parts_);
    });
  }

  int64_t n_, parts_;
  std::vector<Counts> counts_;
};

// One thread: the digits of all passes are counted in one.
template <int kBits, class K>
void sort_in_one_part(K* keys, K* spare, int64_t n, int bits) {
  constexpr size_t kBuckets = size_t{1} << kBits, kMostPasses = (64 + kBits - 1) / kBits;
  const auto passes = static_cast<size_t>((bits + kBits - 1) / kBits);
  uint32_t counts[kMostPasses][kBuckets];
  std::fill_n(&counts[0][0], passes * kBuckets, 0u);
  for (int64_t i = 0; i < n; ++i)
    for (size_t p = 0; p < passes; ++p) ++counts[p][(digits_of(keys[i]) >> (p * kBits)) & (kBuckets - 1)];
  K *from = keys, *to = spare;
  for (size_t p = 0; p < passes; ++p) {
    uint32_t* next = counts[p];
    const auto digit = [&](const K& key) { return (digits_of(key) >> (p * kBits)) & (kBuckets - 1); };
    if (next[digit(from[0])] == static_cast<uint32_t>(n)) continue;
    uint32_t position = 0;
    for (size_t b = 0; b < kBuckets; ++b) position += std::exchange(next[b], position);
    for (int64_t i = 0; i < n; ++i) to[next[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  if (from != keys) std::copy(from, from + n, keys);
}

template <int kBits, class K>
void sort_in_parts(K* keys, K* spare, int64_t n, int64_t parts, int bits) {
  DigitPass<kBits, K> pass(n, parts);
  K *from = keys, *to = spare;
  for (int shift = 0; shift < bits; shift += kBits)
    if (pass.run(from, to, shift)) std::swap(from, to);
  if (from == keys) return;
  parallel_for(n, kPart, static_cast<double>(n),
               [&](int64_t begin, int64_t end) { std::copy(from + begin, from + end, keys + begin); });
}

template <class K>
void sort_keys(K* keys, int64_t n, int bits) {
  if (n <= kComparisons) return std::sort(keys, keys + n);
  Scratch<K> spare(n);
  if (n < kLong) return sort_in_one_part<8>(keys, spare.data(), n, bits);
  const auto parts = std::min<int64_t>(threads_for(static_cast<double>(n) * kNsPerKeyAndPass), n / kPart);
  sort_in_parts<11>(keys, spare.data(), n, parts, bits);
}

}  // namespace

void sort_ascending(uint32_t* keys, int64_t n) { sort_keys(keys, n, 32); }
void sort_ascending(uint64_t* keys, int64_t n) { sort_keys(keys, n, 64); }
void sort_ascending(KeyAndPosition<uint32_t>* pairs, int64_t n) { sort_keys(pairs, n, 32); }
void sort_ascending(KeyAndPosition<uint64_t>* pairs, int64_t n) { sort_keys(pairs, n, 64); }

}  // namespace headrace
