#include "ops/quantization/byte_rows.h"

#include "backend/cpu/parallel.h"
#include "ndarray/layout_copies.h"
#include "op/expect.h"
#include "ops/quantization/byte_images.h"
#include "ops/quantization/layers.h"
#include "ops/quantization/ranges.h"

namespace headrace {
namespace {

// What the numbers of a row are multiplied with to become int8.
float scale_of(const float* row, int64_t columns) {
  float range = 0;
  for (int64_t k = 0; k < columns; ++k) range = std::max(range, std::abs(row[k]));
  return quantizing_scale(DType::kInt8, -range, range);
}

// Calls f(first element, end, scale) for each row.
template <class F>
void for_each_row(const float* data, int64_t rows, int64_t size, F f) {
  if (size == 0) return;
  const int64_t columns = size / rows;
  parallel_for(rows, 1, 2.0 * static_cast<double>(size), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      f(row * columns, (row + 1) * columns, scale_of(data + row * columns, columns));
  });
}

void round_rows(KernelContext& c, const NoAttrs&) {
  const Tensor &in = c.input(0), &out = c.output(0);
  const float* from = in.as<float>();
  for_each_row(from, in.shape[0], in.size, [&](int64_t begin, int64_t end, float scale) {
    for (int64_t k = begin; k < end; ++k)
      out.as<float>()[k] = static_cast<float>(saturated<int8_t>(from[k] * scale)) / scale;
  });
}

// Units, then bytes.
void fill(const Image& floats, void* memory) {
  auto* const units = static_cast<float*>(memory);
  const int64_t rows = floats.shape[0];
  auto* const bytes = reinterpret_cast<int8_t*>(units + rows);
  std::fill_n(units, rows, 0.0f);  // rows without elements too
  const auto* from = static_cast<const float*>(floats.data);
  for_each_row(from, rows, floats.size(), [&](int64_t begin, int64_t end, float scale) {
    units[begin / (end - begin)] = 1 / scale;
    for (int64_t k = begin; k < end; ++k) bytes[k] = saturated<int8_t>(from[k] * scale);
  });
}

}  // namespace

ByteRows byte_rows(KernelContext& c, const Image& floats) {
  static const std::string kLayout = "int8 rows";
  const Image given = row_major(c, floats);
  const size_t rows = static_cast<size_t>(floats.shape[0]);
  const size_t bytes = rows * sizeof(float) + static_cast<size_t>(floats.size());
  LayoutCopies* const copies = given.storage ? given.storage->copies() : nullptr;
  const LayoutCopies::Found found = copies ? copies->find(given.data, kLayout) : LayoutCopies::Found{};
  void* memory = found.data;
  if (found.is_worth_keeping) {
    memory = copies->keep(given.data, kLayout, bytes, [&](void* to) { fill(given, to); });
  } else if (!memory) {
    memory = c.workspace(bytes);
    fill(given, memory);
  }
  auto* const units = static_cast<float*>(memory);
  const bool is_kept = found.data || found.is_worth_keeping;
  return {{units + rows, DType::kInt8, given.shape, given.strides, is_kept ? given.storage : nullptr}, units};
}

OpDef rounded_rows() {
  return general<>({.name = "_rounded_rows",
                    .doc = "float32 weights, each row of which (an index of the first axis) is rounded to what int8 "
                           "numbers of the row's own range can say.",
                    .complete = keep_shape,
                    .infer =
                        [](Infer& i, const Attrs&) {
                          i.require(!i.shape(0).empty(), ErrorKind::kRuntime, "weights with rows are needed");
                          expect_type(i, 0, i.shape(0), DType::kFloat32);
                          i.output(i.shape(0), DType::kFloat32);
                          i.cost(2.0 * static_cast<double>(i.size(0)));
                        },
                    .kernel = round_rows,
                    .zero_gradient = true,
                    .samples = {uniform({3, 4}), values({0, 0.25, -1, 1})}});
}

}  // namespace headrace
