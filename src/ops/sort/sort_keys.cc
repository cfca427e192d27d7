#include "ops/sort/sort_keys.h"

#include <algorithm>
#include <bit>

#include <hwy/contrib/sort/vqsort.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include "backend/cpu/parallel.h"
#include "ops/sort/split.h"

static_assert(std::endian::native == std::endian::little, "pairs are sorted as one number, whose high half is the key");

namespace headrace {
namespace {

constexpr int64_t kFewKeys = 16;        // are not worth Highway's overhead
constexpr int64_t kManyKeys = 1 << 15;  // justify a second thread
constexpr int64_t kSample = 255;        // of whose keys the middle one splits all
constexpr double kNsPerKey = 2.5;

template <class Number>
void sort_alone(Number* keys, int64_t n) {
  hwy::Sorter()(keys, static_cast<size_t>(n), hwy::SortAscending());
}

template <class Key>
Key middle_of_sample(const Key* keys, int64_t n) {
  Key sample[kSample];
  for (int64_t i = 0; i < kSample; ++i) sample[i] = keys[i * n / kSample];
  std::nth_element(sample, sample + kSample / 2, sample + kSample);
  return sample[kSample / 2];
}

// The lesser keys and the others are sorted side by side. `spare` has room for n keys.
template <class Key>
void sort_on_threads(Key* keys, Key* spare, int64_t n, int threads) {
  if (threads < 2 || n < kManyKeys) return sort_alone(keys, n);
  const int64_t lesser = split(keys, spare, n, middle_of_sample(keys, n));
  if (lesser == 0) return sort_alone(keys, n);  // few keys differ
  const int64_t begin[] = {0, lesser, n};
  parallel_for(2, 1, static_cast<double>(n) * kNsPerKey, [&](int64_t first, int64_t last) {
    for (int64_t side = first; side < last; ++side) {
      const int64_t from = begin[side], count = begin[side + 1] - from;
      sort_on_threads(spare + from, keys + from, count, threads / 2);
      std::copy_n(spare + from, count, keys + from);
    }
  });
}

template <class Key>
void sort_keys(Key* keys, int64_t n) {
  const int threads = n < kManyKeys ? 1 : threads_for(static_cast<double>(n) * kNsPerKey);
  if (threads < 2) return sort_alone(keys, n);
  Scratch<Key> spare(n);
  sort_on_threads(keys, spare.data(), n, threads);
}

// By AVX-512 Highway stores compressed vectors, which a Zen 4 does by microcode: sorting a million keys of 32 bits
// takes it four times as long as of 64 bits.
bool is_zen_4() noexcept {
#if defined(__x86_64__)
  constexpr unsigned kZen3And4 = 0x19;  // of which the former has no AVX-512
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__builtin_cpu_is("amd") || !__builtin_cpu_supports("avx512f") || !__get_cpuid(1, &a, &b, &c, &d)) return false;
  return ((a >> 8) & 0xF) + ((a >> 20) & 0xFF) == kZen3And4;
#else
  return false;
#endif
}

}  // namespace

void sort_ascending(uint32_t* keys, int64_t n) {
  if (n <= kFewKeys) return std::sort(keys, keys + n);
  static const bool sorts_wide_keys_faster = is_zen_4();
  if (!sorts_wide_keys_faster) return sort_keys(keys, n);
  Scratch<uint64_t> wide(n);
  std::copy_n(keys, n, wide.data());
  sort_keys(wide.data(), n);
  std::transform(wide.data(), wide.data() + n, keys, [](uint64_t key) { return static_cast<uint32_t>(key); });
}

void sort_ascending(uint64_t* keys, int64_t n) {
  if (n <= kFewKeys) return std::sort(keys, keys + n);
  sort_keys(keys, n);
}

void sort_ascending(KeyAndPosition<uint32_t>* pairs, int64_t n) {
  static_assert(sizeof *pairs == sizeof(uint64_t));
  if (n <= kFewKeys) return std::sort(pairs, pairs + n);
  sort_keys(reinterpret_cast<uint64_t*>(pairs), n);
}

void sort_ascending(KeyAndPosition<uint64_t>* pairs, int64_t n) {
  static_assert(sizeof *pairs == sizeof(hwy::uint128_t));
  if (n <= kFewKeys) return std::sort(pairs, pairs + n);
  sort_alone(reinterpret_cast<hwy::uint128_t*>(pairs), n);
}

}  // namespace headrace
