#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cpu/parallel.h"
#include "op/formula/transfer.h"
#include "ops/nn/sequence.h"

namespace headrace {
namespace {

// Packed data as (time, batch) or (batch, time) of items.
struct Sequences {
  Sequences(const Shape& shape, DType dtype, int64_t axis)
      : by_time(axis == 0), time(shape[by_time ? 0 : 1]), batch(shape[by_time ? 1 : 0]) {
    for (size_t k = 2; k < shape.size(); ++k) item *= shape[k];
    bytes = static_cast<size_t>(item) * item_size(dtype);
  }
  size_t offset(int64_t t, int64_t n) const noexcept {
    return static_cast<size_t>(by_time ? t * batch + n : n * time + t) * bytes;
  }
  // Calls f(t, n) for all items.
  template <class F>
  void for_each(F&& f) const {
    const int64_t grain = std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, static_cast<int64_t>(bytes)));
    const double cost = static_cast<double>(time * batch) * (5 + static_cast<double>(bytes) * 0.1);
    parallel_for(time * batch, grain, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (by_time)
          f(i / batch, i % batch);
        else
          f(i % time, i / time);
      }
    });
  }

  bool by_time;
  int64_t time, batch, item = 1;
  size_t bytes;
};

// The length of each sequence, within [least, time].
std::vector<int64_t> lengths_of(const KernelContext& c, const Sequences& s, int64_t least) {
  std::vector<int64_t> lengths(static_cast<size_t>(s.batch), s.time);
  if (c.input_count() < 2) return lengths;
  load_function(c.input(1).dtype, ComputeType::kInt64)(lengths.data(), c.input(1).data, 1, s.batch);
  for (int64_t& n : lengths) n = std::clamp(n, std::min(least, s.time), s.time);
  return lengths;
}

void mask(KernelContext& c, int64_t axis, double value) {
  const Tensor &data = c.input(0), &out = c.output(0);
  if (data.size == 0) return;
  const Sequences s(data.shape, data.dtype, axis);
  const std::vector<int64_t> lengths = lengths_of(c, s, 0);
  char* filled = c.workspace<char>(static_cast<int64_t>(s.bytes));
  const std::vector<double> values(static_cast<size_t>(s.item), value);
  store_function(ComputeType::kFloat64, data.dtype)(values.data(), filled, 1, s.item);
  s.for_each([&](int64_t t, int64_t n) {
    const size_t at = s.offset(t, n);
    const bool kept = t < lengths[static_cast<size_t>(n)];
    std::memcpy(out.as<char>() + at, kept ? data.as<char>() + at : filled, s.bytes);
  });
}

void take_last(KernelContext& c, int64_t axis) {
  const Tensor &data = c.input(0), &out = c.output(0);
  if (out.size == 0) return;
  const Sequences s(data.shape, data.dtype, axis);
  const std::vector<int64_t> lengths = lengths_of(c, s, 1);
  for (int64_t n = 0; n < s.batch; ++n)
    std::memcpy(out.as<char>() + static_cast<size_t>(n) * s.bytes,
                data.as<char>() + s.offset(lengths[static_cast<size_t>(n)] - 1, n), s.bytes);
}

void spread_last(KernelContext& c, int64_t axis) {
  const Tensor &head = c.input(0), &out = c.output(0);
  if (out.size == 0) return;
  const Sequences s(out.shape, out.dtype, axis);
  const std::vector<int64_t> lengths = lengths_of(c, s, 1);
  s.for_each([&](int64_t t, int64_t n) {
    char* to = out.as<char>() + s.offset(t, n);
    if (t == lengths[static_cast<size_t>(n)] - 1)
      std::memcpy(to, head.as<char>() + static_cast<size_t>(n) * s.bytes, s.bytes);
    else
      std::memset(to, 0, s.bytes);
  });
}

void reverse(KernelContext& c, int64_t axis) {
  const Tensor &data = c.input(0), &out = c.output(0);
  if (data.size == 0) return;
  const Sequences s(data.shape, data.dtype, axis);
  const std::vector<int64_t> lengths = lengths_of(c, s, 0);
  s.for_each([&](int64_t t, int64_t n) {
    const int64_t length = lengths[static_cast<size_t>(n)];
    std::memcpy(out.as<char>() + s.offset(t, n), data.as<char>() + s.offset(t < length ? length - 1 - t : t, n),
                s.bytes);
  });
}

void run_on_host(KernelContext& c, SequenceWork work, int64_t axis, double value) {
  switch (work) {
    case SequenceWork::kMask:
      return mask(c, axis, value);
    case SequenceWork::kLast:
      return take_last(c, axis);
    case SequenceWork::kSpread:
      return spread_last(c, axis);
    case SequenceWork::kReverse:
      return reverse(c, axis);
  }
}

}  // namespace

const decltype(run_sequences) run_sequences{"run_sequences", run_on_host};

}  // namespace headrace
