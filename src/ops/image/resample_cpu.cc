#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "backend/cpu/parallel.h"
#include "op/formula/stretch.h"
#include "op/kernel.h"
#include "ops/image/resample.h"

namespace headrace {
namespace {

using Taps = ResampleTaps;

// Two neighbouring elements, by their distance.
void add_linear(Taps& taps, int64_t n, double place) {
  const auto low = std::min(static_cast<int64_t>(place), n - 1);
  const double share = low + 1 < n ? place - static_cast<double>(low) : 0;
  taps.taps.push_back({low, 1 - share});
  if (share > 0) taps.taps.push_back({low + 1, share});
}

Taps forward_taps(const std::string& kind, int64_t n, int64_t out) {
  Taps taps;
  const double step = out == 0 ? 0 : static_cast<double>(n) / static_cast<double>(out);
  for (int64_t i = 0; i < out; ++i, taps.close()) {
    const auto place = static_cast<double>(i);
    if (kind == "aligned") {
      add_linear(taps, n, out > 1 ? place * static_cast<double>(n - 1) / static_cast<double>(out - 1) : 0);
    } else if (kind == "centred") {
      add_linear(taps, n, out > 1 ? std::max(0.0, (place + 0.5) * step - 0.5) : 0);
    } else if (kind == "nearest") {
      taps.taps.push_back({i * n / out, 1});
    } else {
      const int64_t begin = i * n / out, end = ((i + 1) * n + out - 1) / out;
      for (int64_t k = begin; k < end; ++k) taps.taps.push_back({k, 1 / static_cast<double>(end - begin)});
    }
  }
  return taps;
}

std::span<const Taps::Tap> taps_behind(const Taps& taps, int64_t i) {
  const auto at = static_cast<size_t>(i);
  return std::span(taps.taps).subspan(static_cast<size_t>(taps.first[at]),
                                      static_cast<size_t>(taps.first[at + 1] - taps.first[at]));
}

Taps transpose(const Taps& taps, int64_t n) {
  std::vector<std::vector<Taps::Tap>> rows(static_cast<size_t>(n));
  for (int64_t i = 0; i < taps.count(); ++i)
    for (const Taps::Tap& tap : taps_behind(taps, i)) rows[static_cast<size_t>(tap.from)].push_back({i, tap.weight});
  Taps result;
  for (const auto& row : rows) {
    result.taps.insert(result.taps.end(), row.begin(), row.end());
    result.close();
  }
  return result;
}

// One image: rows first, into a line as wide as the source, then along the line.
template <class T>
void resample_plane(const T* x, T* y, int64_t width, const Taps& rows, const Taps& columns, std::vector<T>& line) {
  const int64_t out_width = columns.count();
  for (int64_t i = 0; i < rows.count(); ++i) {
    std::fill(line.begin(), line.end(), T{0});
    for (const Taps::Tap& tap : taps_behind(rows, i)) {
      const T* from = x + tap.from * width;
      const T weight = static_cast<T>(tap.weight);
      for (int64_t j = 0; j < width; ++j) line[static_cast<size_t>(j)] += weight * from[j];
    }
    T* to = y + i * out_width;
    for (int64_t j = 0; j < out_width; ++j) {
      T sum = 0;
      for (const Taps::Tap& tap : taps_behind(columns, j))
        sum += static_cast<T>(tap.weight) * line[static_cast<size_t>(tap.from)];
      to[j] = sum;
    }
  }
}

template <class T>
void run(KernelContext& c, const ResampleAttrs& a) {
  const Tensor &x = c.input(0), &y = c.output(0);
  const Taps rows = row_taps(a), columns = column_taps(a);
  const size_t last = x.shape.size() - 1;
  const int64_t in_width = x.shape[last], in_size = in_width * x.shape[last - 1];
  const int64_t out_size = y.shape[last] * y.shape[last - 1], planes = out_size == 0 ? 0 : y.size / out_size;
  parallel_for(planes, 1, static_cast<double>(x.size + y.size) * 1.5, [&](int64_t begin, int64_t end) {
    Stretch<T> source(x.data, x.dtype, in_size), sink(y.data, y.dtype, out_size);
    std::vector<T> line(static_cast<size_t>(in_width));
    for (int64_t plane = begin; plane < end; ++plane) {
      resample_plane(source.read(plane * in_size, in_size), sink.target(plane * out_size), in_width, rows, columns,
                     line);
      sink.written(plane * out_size, out_size);
    }
  });
}

void resample_on_host(KernelContext& c, const ResampleAttrs& a) {
  if (c.input(0).dtype == DType::kFloat64)
    run<double>(c, a);
  else
    run<float>(c, a);
}

Taps axis_taps(const ResampleAttrs& a, int64_t n, int64_t out) {
  const Taps taps = forward_taps(a.kind, n, out);
  return a.transposed ? transpose(taps, n) : taps;
}

}  // namespace

ResampleTaps row_taps(const ResampleAttrs& a) { return axis_taps(a, a.height, a.out_height); }
ResampleTaps column_taps(const ResampleAttrs& a) { return axis_taps(a, a.width, a.out_width); }

const decltype(resample) resample{"resample", resample_on_host};

}  // namespace headrace
