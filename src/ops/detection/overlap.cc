// How much boxes overlap, and which rows of scores go with which columns.
#include "ops/detection/overlap.h"

#include <algorithm>
#include <numeric>

#include "backend/cpu/parallel.h"
#include "op/expect.h"
#include "op/rule.h"

namespace headrace {
namespace {

struct OverlapAttrs {
  std::string format = "corner";
  static constexpr auto kFields = fields(field(&OverlapAttrs::format, "format", kBoxFormatDoc).one_of("corner|center"));
};

void infer_overlap(Infer& i, const OverlapAttrs&) {
  Shape shape;
  for (size_t k : {0, 1}) {
    expect_floats(i, k);
    i.require(i.shape(k).size() >= 2 && i.shape(k).back() == 4, ErrorKind::kRuntime,
              "{} must have two axes or more, the last of them of 4 numbers; got shape {}", k == 0 ? "lhs" : "rhs",
              to_string(i.shape(k)));
    for (size_t axis = 0; axis + 1 < i.shape(k).size(); ++axis) shape.push_back(i.shape(k)[axis]);
  }
  i.require(i.dtype(0) == i.dtype(1), ErrorKind::kRuntime, "lhs and rhs must have one dtype, got {} and {}",
            dtype_name(i.dtype(0)), dtype_name(i.dtype(1)));
  i.cost(100 + 3.0 * static_cast<double>(i.size(0) / 4) * static_cast<double>(i.size(1) / 4));
  i.output(shape, i.dtype(0));
}

template <class T>
void overlaps(KernelContext& c, BoxFormat format) {
  const Reals<T> left(c.input(0)), right(c.input(1));
  RealResult<T> out(c.output(0), 0);
  const int64_t rows = c.input(0).size / 4, columns = c.input(1).size / 4;
  std::vector<T> areas(static_cast<size_t>(columns));
  for (int64_t j = 0; j < columns; ++j) areas[static_cast<size_t>(j)] = box_area(right.at(4 * j), format);
  parallel_for(rows, 1, 3.0 * static_cast<double>(c.output(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T *box = left.at(4 * i), area = box_area(box, format);
      for (int64_t j = 0; j < columns; ++j)
        out[i * columns + j] = overlap(box, area, right.at(4 * j), areas[static_cast<size_t>(j)], format);
    }
  });
  out.store();
}

void overlaps_on_host(KernelContext& c, BoxFormat format) {
  with_real(c.output(0).dtype, [&]<class T>() { overlaps<T>(c, format); });
}

OpDef box_iou() {
  return general<OverlapAttrs>(
      {.name = "_contrib_box_iou",
       .python = {"nd.contrib.box_iou"},
       .doc = "The area that each box of lhs (..., 4) shares with each of rhs (..., 4), divided by the area of their "
              "union: the axes of lhs without the last, then those of rhs. The gradient is zero. Raises MXNetError for "
              "other shapes and for integers.",
       .inputs = {"lhs", "rhs"},
       .infer = infer_overlap,
       .kernel = [](KernelContext& c, const OverlapAttrs& a) { overlap_boxes(c, box_format(a.format)); },
       .zero_gradient = true,
       .own_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({2, 3, 4}), uniform({5, 4})}),
                   Sample({uniform({3, 4}), uniform({2, 4})}, make_attrs(OverlapAttrs{.format = "center"}))}});
}

// --- bipartite matching ----------------------------------------------------------------------------------------------

// Which column each row has and the other way, -1 for none; the best scores first, of equal ones the first.
template <class T>
void match(const T* scores, int64_t rows, int64_t columns, const MatchingAttrs& a, T* of_row, T* of_column) {
  std::vector<int64_t> order(static_cast<size_t>(rows * columns));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return a.is_ascend ? scores[i] < scores[j] : scores[i] > scores[j]; });
  const auto threshold = static_cast<T>(a.threshold);
  int64_t count = 0;
  for (int64_t i : order) {
    const int64_t row = i / columns, column = i % columns;
    if (of_row[row] != -1 || of_column[column] != -1) continue;
    if (!(a.is_ascend ? scores[i] < threshold : scores[i] > threshold)) return;
    of_row[row] = static_cast<T>(column);
    of_column[column] = static_cast<T>(row);
    if (++count > a.topk && a.topk > 0) return;
  }
}

template <class T>
void match_all(KernelContext& c, const MatchingAttrs& a) {
  const Shape& shape = c.input(0).shape;
  const int64_t rows = shape[shape.size() - 2], columns = shape.back();
  const Reals<T> scores(c.input(0));
  RealResult<T> of_row(c.output(0), -1), of_column(c.output(1), -1);
  const int64_t batch = c.input(0).size == 0 ? 0 : c.input(0).size / (rows * columns);
  parallel_for(batch, 1, 50.0 * static_cast<double>(c.input(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      match(scores.at(b * rows * columns), rows, columns, a, of_row.at(b * rows), of_column.at(b * columns));
  });
  of_row.store();
  of_column.store();
}

void matches_on_host(KernelContext& c, const MatchingAttrs& a) {
  with_real(c.input(0).dtype, [&]<class T>() { match_all<T>(c, a); });
}

OpDef bipartite_matching() {
  return general<MatchingAttrs>(
      {.name = "_contrib_bipartite_matching",
       .python = {"nd.contrib.bipartite_matching"},
       .doc =
           "Pairs of rows and columns of scores (..., rows, columns), the best score first: for each row its column, "
           "and for each column its row, -1 where there is none. The gradient is zero. Raises MXNetError for fewer "
           "than two axes and for integers.",
       .outputs = 2,
       .infer =
           [](Infer& i, const MatchingAttrs& a) {
             expect_floats(i, 0);
             Shape shape = i.shape(0);
             i.require(shape.size() >= 2, ErrorKind::kRuntime, "two axes or more are needed, got shape {}",
                       to_string(shape));
             i.require(a.threshold == a.threshold, ErrorKind::kValue, "threshold must be a number, got nan");
             const int64_t columns = shape.back();
             shape.pop_back();
             i.output(shape, i.dtype(0));
             shape.back() = columns;
             i.output(shape, i.dtype(0));
             i.cost(100 + 50.0 * static_cast<double>(i.size(0)));
           },
       .kernel = [](KernelContext& c, const MatchingAttrs& a) { match_scores(c, a); },
       .zero_gradient = true,
       .own_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({2, 3, 4})}, make_attrs(MatchingAttrs{.threshold = 0.1, .topk = 1})),
                   Sample({uniform({3, 2})}, make_attrs(MatchingAttrs{.is_ascend = true, .threshold = 1}))}});
}

}  // namespace

const decltype(overlap_boxes) overlap_boxes{"overlap_boxes", overlaps_on_host};
const decltype(match_scores) match_scores{"match_scores", matches_on_host};

Operators overlap_operators() { return {box_iou(), bipartite_matching()}; }

}  // namespace headrace
