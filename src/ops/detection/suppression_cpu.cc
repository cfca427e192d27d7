#include "ops/detection/suppression.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/cpu/parallel.h"

namespace headrace {
namespace {

// Non-maximum suppression of the rows of one batch entry.
template <class T>
class Suppression {
 public:
  Suppression(const T* rows, int64_t count, int64_t width, const NmsAttrs& a)
      : rows_(rows), count_(count), width_(width), a_(a), format_(box_format(a.in_format)) {}

  // The rows that stay, best score first.
  std::vector<int64_t> kept() const {
    const std::vector<int64_t> order = candidates();
    BoxColumns<T> boxes(format_, order.size());
    for (int64_t row : order) boxes.push_back(box(row), class_of(row));
    std::vector<typename BoxColumns<T>::Mark> gone(order.size());
    std::vector<int64_t> result;
    for (size_t i = 0; i < order.size(); ++i) {
      if (gone[i]) continue;
      result.push_back(order[i]);
      boxes.mark(i, static_cast<T>(a_.overlap_thresh), gone.data());
    }
    return result;
  }

 private:
  const T* row(int64_t i) const noexcept { return rows_ + i * width_; }
  const T* box(int64_t i) const noexcept { return row(i) + a_.coord_start; }
  T score(int64_t i) const noexcept { return row(i)[a_.score_index]; }

  std::vector<int64_t> candidates() const {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < count_; ++i) {
      const bool is_background = a_.id_index >= 0 && row(i)[a_.id_index] == static_cast<T>(a_.background_id);
      if (score(i) > static_cast<T>(a_.valid_thresh) && !is_background) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return score(i) > score(j); });
    if (a_.topk >= 0 && std::ssize(order) > a_.topk) order.resize(static_cast<size_t>(a_.topk));
    return order;
  }

  // Boxes of one class are compared; all have one where classes do not count.
  T class_of(int64_t i) const noexcept {
    return a_.force_suppress || a_.id_index < 0 ? T{0} : std::trunc(row(i)[a_.id_index]);
  }

  const T* rows_;
  int64_t count_, width_;
  const NmsAttrs& a_;
  BoxFormat format_;
};

// Boxes whose first number is negative stay as they are, as what was filled with -1 has to.
template <class T>
void convert_box(T* box, BoxFormat to) {
  if (box[0] < 0) return;
  for (int axis : {0, 1}) {
    const T low = box[axis], high = box[axis + 2];
    box[axis] = to == BoxFormat::kCenter ? (low + high) / 2 : low - high / 2;
    box[axis + 2] = to == BoxFormat::kCenter ? high - low : low + high / 2;
  }
}

template <class T>
void suppress_all(KernelContext& c, const NmsAttrs& a) {
  const Tensor& data = c.input(0);
  const int64_t width = data.shape.back(), count = data.shape[data.shape.size() - 2];
  const int64_t batch = data.size == 0 ? 0 : data.size / (count * width);
  const Reals<T> in(data);
  RealResult<T> out(c.output(0), -1);
  int64_t* record = c.output(1).as<int64_t>();
  std::fill_n(record, c.output(1).size, int64_t{-1});
  const double cost = 20.0 * static_cast<double>(data.size) * static_cast<double>(std::min<int64_t>(count, 50));
  parallel_for(batch, 1, cost, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const T* rows = in.at(b * count * width);
      std::vector<int64_t> kept(static_cast<size_t>(a.topk == 0 ? count : 0));
      std::iota(kept.begin(), kept.end(), int64_t{0});
      if (a.topk != 0) kept = Suppression<T>(rows, count, width, a).kept();
      for (size_t i = 0; i < kept.size(); ++i) {
        T* to = out.at((b * count + static_cast<int64_t>(i)) * width);
        std::copy_n(rows + kept[i] * width, width, to);
        record[b * count + static_cast<int64_t>(i)] = b * count + kept[i];
        if (a.in_format != a.out_format && a.topk != 0) convert_box(to + a.coord_start, box_format(a.out_format));
      }
    }
  });
  out.store();
}

void suppress_on_host(KernelContext& c, const NmsAttrs& a) {
  with_real(c.input(0).dtype, [&]<class T>() { suppress_all<T>(c, a); });
}

void put_back_on_host(KernelContext& c) {
  const Tensor &head = c.input(0), &out = c.output(0);
  const auto bytes = static_cast<size_t>(head.shape.back()) * item_size(head.dtype);
  std::fill_n(out.as<char>(), static_cast<size_t>(out.size) * item_size(out.dtype), char{0});
  for (int64_t k = 0; k < c.input(1).size; ++k) {
    const int64_t row = c.input(1).as<int64_t>()[k];
    if (row < 0 || row >= c.input(1).size) continue;
    std::copy_n(head.as<char>() + static_cast<size_t>(k) * bytes, bytes,
                out.as<char>() + static_cast<size_t>(row) * bytes);
  }
}

}  // namespace

const decltype(suppress_boxes) suppress_boxes{"suppress_boxes", suppress_on_host};
const decltype(put_rows_back) put_rows_back{"put_rows_back", put_back_on_host};

}  // namespace headrace
