#include <algorithm>
#include <vector>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "ops/sort/ordering.h"
#include "ops/sort/sort_keys.h"
#include "ops/sort/threshold.h"

namespace headrace {
namespace {

constexpr double kSortNsPerElement = 15, kSelectNsPerElement = 1;
constexpr int64_t kBlock = 128;      // elements compared with one threshold
constexpr int64_t kChunk = 1 << 17;  // of a long row, searched by one thread
constexpr int64_t kGrain = 1 << 15;  // elements that justify a thread

template <class F>
void with_type(ComputeType type, F&& f) {
  switch (type) {
    case ComputeType::kFloat32:
      return f(float{});
    case ComputeType::kFloat64:
      return f(double{});
    case ComputeType::kInt32:
      return f(int32_t{});
    case ComputeType::kInt64:
      return f(int64_t{});
    case ComputeType::kUint64:
      return f(uint64_t{});
  }
}

template <class T>
typename KeyOf<T>::Key flip_for(bool ascending) {
  return ascending ? 0 : static_cast<typename KeyOf<T>::Key>(~typename KeyOf<T>::Key{0});
}

template <class T>
void sort_row(const T* x, T* y, int64_t n, bool ascending) {
  using K = KeyOf<T>;
  const auto flip = flip_for<T>(ascending);
  auto* keys = reinterpret_cast<typename K::Key*>(y);
  const double cost = static_cast<double>(n);
  parallel_for(n, kGrain, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) keys[i] = K::encode(x[i], flip);
  });
  sort_ascending(keys, n);
  parallel_for(n, kGrain, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = K::decode(keys[i], flip);
  });
}

// Collects pairs that may be among the first k of x[begin, end); what it holds in the end includes those.
template <class T>
class Candidates {
 public:
  using K = KeyOf<T>;
  using Pair = typename K::Pair;
  static constexpr size_t kSlack = 16;

  Candidates(int64_t k, bool ascending) : k_(static_cast<size_t>(k)), ascending_(ascending) {}

  void search(const T* x, int64_t begin, int64_t end) {
    const int64_t first_end = std::min(end, begin + static_cast<int64_t>(2 * k_ + kSlack));
    for (int64_t i = begin; i < first_end; ++i) pairs_.push_back(K::pair(x[i], flip_, i));
    if (pairs_.size() >= k_) shrink();
    const ReachFn<T> reach = positions_that_reach<T>();
    int32_t positions[kBlock];
    for (int64_t i = first_end; i < end; i += kBlock) {
      const int64_t count = reach(x + i, std::min(kBlock, end - i), limit_, ascending_, positions);
      for (int64_t c = 0; c < count; ++c) {
        const int64_t j = i + positions[c];
        const Pair pair = K::pair(x[j], flip_, j);
        if (pair < last_) pairs_.push_back(pair);
      }
      if (pairs_.size() > 2 * k_ + kSlack) shrink();
    }
    if (pairs_.size() > k_) shrink();
  }
  std::vector<Pair> take() { return std::move(pairs_); }

 private:
  void shrink() {
    std::nth_element(pairs_.begin(), pairs_.begin() + static_cast<int64_t>(k_) - 1, pairs_.end());
    pairs_.resize(k_);
    last_ = pairs_.back();
    limit_ = K::decode(last_.key, flip_);
  }

  const size_t k_;
  const bool ascending_;
  const typename K::Key flip_ = flip_for<T>(ascending_);
  std::vector<Pair> pairs_;
  Pair last_{};  // of the first k found so far
  T limit_{};    // its value
};

// The pairs of a whole row in order.
template <class T, class Pair>
void sort_pairs(const T* x, int64_t n, bool ascending, Pair* pairs) {
  const auto flip = flip_for<T>(ascending);
  parallel_for(n, kGrain, static_cast<double>(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) pairs[i] = KeyOf<T>::pair(x[i], flip, i);
  });
  sort_ascending(pairs, n);
}

// The first k pairs of a long row in order, k being much less than n.
template <class T>
std::vector<typename KeyOf<T>::Pair> select_pairs(const T* x, int64_t n, int64_t k, bool ascending) {
  const int64_t chunks = std::max<int64_t>(1, n / std::max(kChunk, 16 * k));
  std::vector<std::vector<typename KeyOf<T>::Pair>> found(static_cast<size_t>(chunks));
  parallel_for(chunks, 1, static_cast<double>(n) * kSelectNsPerElement, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      Candidates<T> candidates(k, ascending);
      candidates.search(x, c * n / chunks, (c + 1) * n / chunks);
      found[static_cast<size_t>(c)] = candidates.take();
    }
  });
  std::vector<typename KeyOf<T>::Pair> pairs = std::move(found[0]);
  for (size_t c = 1; c < found.size(); ++c) pairs.insert(pairs.end(), found[c].begin(), found[c].end());
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// Calls f(pairs), of which the first k are valid.
template <class T, class F>
void with_first_pairs(const T* x, int64_t n, int64_t k, bool ascending, F&& f) {
  check(sizeof(T) == 8 || n <= int64_t{1} << 32, ErrorKind::kValue, "sort: {} elements along the axis are too many", n);
  if (k * 8 < n) return f(select_pairs(x, n, k, ascending).data());
  Scratch<typename KeyOf<T>::Pair> pairs(n);
  sort_pairs(x, n, ascending, pairs.data());
  f(pairs.data());
}

double select_cost(const AxisSpace& space, int64_t k) {
  const auto elements = static_cast<double>(space.outer * space.length * space.inner);
  return elements * (k * 8 >= space.length ? kSortNsPerElement : kSelectNsPerElement);
}

void sort_on_host(KernelContext&, const Tensor& input, const AxisSpace& space, bool ascending, const Tensor& output) {
  const ComputeType type = compute_type_of(input.dtype);
  with_type(type, [&]<class T>(T) {
    for_each_row(space, {&input, 1}, {&output, 1}, type, static_cast<double>(input.size) * kSortNsPerElement,
                 [&](const RowCall& call) { sort_row(call.in<T>(0), call.out<T>(), space.length, ascending); });
  });
}

void select_on_host(KernelContext&, const Tensor& input, const AxisSpace& space, int64_t k, bool ascending,
                    const Tensor* values, const Tensor* positions) {
  const ComputeType type = compute_type_of(input.dtype);
  const RowArray in{input, type, space.length};
  std::vector<RowArray> out;
  if (values) out.push_back({*values, type, k});
  if (positions) out.push_back({*positions, ComputeType::kInt64, k});
  with_type(type, [&]<class T>(T) {
    for_each_row(space.outer, space.inner, {&in, 1}, out, space.length, select_cost(space, k),
                 [&](const RowCall& call) {
                   const T* x = call.in<T>(0);
                   with_first_pairs(x, space.length, k, ascending, [&](const auto* pairs) {
                     parallel_for(k, kGrain, static_cast<double>(k) * 2, [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const auto position = static_cast<int64_t>(pairs[i].position);
                         if (values) call.out<T>()[i] = x[position];
                         if (positions) call.out<int64_t>(values ? 1 : 0)[i] = position;
                       }
                     });
                   });
                 });
  });
}

void mark_on_host(KernelContext&, const Tensor& input, const AxisSpace& space, int64_t k, bool ascending,
                  const Tensor& mask) {
  const ComputeType type = compute_type_of(input.dtype);
  const RowArray in{input, type, space.length}, out{mask, type, space.length};
  with_type(type, [&]<class T>(T) {
    for_each_row(space.outer, space.inner, {&in, 1}, {&out, 1}, space.length, select_cost(space, k),
                 [&](const RowCall& call) {
                   std::fill_n(call.out<T>(), space.length, T{0});
                   with_first_pairs(call.in<T>(0), space.length, k, ascending, [&](const auto* pairs) {
                     for (int64_t i = 0; i < k; ++i) call.out<T>()[pairs[i].position] = T{1};
                   });
                 });
  });
}

}  // namespace

const decltype(sort_values) sort_values{"sort_values", sort_on_host};
const decltype(select_first) select_first{"select_first", select_on_host};
const decltype(mark_first) mark_first{"mark_first", mark_on_host};

}  // namespace headrace
