#include "ops/convolution/column_products.h"

#include <algorithm>

#include "backend/cpu/parallel.h"
#include "ndarray/strided_copy.h"
#include "op/kernel.h"
#include "ops/convolution/plain_grid.h"
#include "ops/linalg/gemm.h"

namespace headrace {
namespace {

// With fewer filters or elements of a window the loops over windows are ahead.
constexpr int64_t kSmallestMatrix = 4;
// Of the columns of a block.
constexpr int64_t kBlockElements = int64_t{1} << 19;

// An image as row-major planes, in workspace where it does not lie so.
class Packed {
 public:
  Packed(KernelContext& context, const Image& image) : image_(image), packed_(image) {
    packed_.strides = contiguous_strides(image.shape);
    is_copy_ = !is_contiguous(image.shape, image.strides);
    if (is_copy_) packed_.data = context.workspace<double>(image.size());
  }

  const Image& image() const noexcept { return packed_; }
  double* data() const noexcept { return static_cast<double*>(packed_.data); }
  void read() const { copy(packed_, image_); }
  void write() const { copy(image_, packed_); }

 private:
  void copy(const Image& to, const Image& from) const {
    if (is_copy_) strided_copy(to.data, to.strides, from.data, from.strides, to.shape, to.dtype);
  }

  const Image& image_;
  Image packed_;
  bool is_copy_;
};

// Rows of windows, each along the last axis: those of an image with its first axes as one.
struct Rows {
  int64_t begin, end;
};

class ColumnProducts {
 public:
  ColumnProducts(KernelContext& context, const ConvolutionProblem& p)
      : context_(context),
        p_(p),
        weight_(context, p.weight),
        out_(context, p.out),
        data_(p.data),
        windows_(out_.image()),
        step_(spatial(p.window.stride, 0, 1)),
        dilate_(spatial(p.window.dilate, 0, 1)),
        pad_(spatial(p.window.pad, 0, 0)),
        taps_(spatial(p.window.kernel, 0, 1)),
        filters_(p.weight.shape[0] / p.window.groups),
        channels_(p.weight.shape[1]),
        depth_(p.weight.size() / p.weight.shape[0]),
        rows_(windows_.extent[0] * windows_.extent[1]),
        rows_of_block_(std::clamp<int64_t>(kBlockElements / (depth_ * windows_.extent[2]), 1, rows_)),
        columns_(context.workspace<double>(depth_ * rows_of_block_ * windows_.extent[2])),
        product_(context.workspace<double>(filters_ * std::max(rows_of_block_ * windows_.extent[2], depth_))) {}

  void run() const {
    if (p_.pass != ConvolutionPass::kWeight) weight_.read();
    if (p_.pass != ConvolutionPass::kForward) out_.read();
    if (p_.pass == ConvolutionPass::kData) begin_data();
    if (p_.pass == ConvolutionPass::kWeight) std::fill_n(weight_.data(), p_.weight.size(), 0.0);
    for (int64_t n = 0; n < p_.out.shape[0]; ++n)
      for (int64_t group = 0; group < p_.window.groups; ++group)
        for (int64_t begin = 0; begin < rows_; begin += rows_of_block_)
          multiply(n, group, {begin, std::min(begin + rows_of_block_, rows_)});
    if (p_.pass == ConvolutionPass::kForward) out_.write();
    if (p_.pass == ConvolutionPass::kWeight) weight_.write();
    if (p_.pass == ConvolutionPass::kWeight && p_.bias) sum_channels(windows_, static_cast<double*>(p_.bias));
  }

 private:
  void multiply(int64_t n, int64_t group, Rows rows) const {
    if (p_.pass == ConvolutionPass::kForward)
      forward(n, group, rows);
    else if (p_.pass == ConvolutionPass::kData)
      to_data(n, group, rows);
    else
      to_weight(n, group, rows);
  }

  int64_t width(Rows rows) const noexcept { return (rows.end - rows.begin) * windows_.extent[2]; }
  double* weight(int64_t group) const noexcept { return weight_.data() + group * filters_ * depth_; }
  double* out(int64_t n, int64_t group, Rows rows) const noexcept {
    return windows_.plane(n, group * filters_) + rows.begin * windows_.extent[2];
  }

  void forward(int64_t n, int64_t group, Rows rows) const {
    const int64_t wide = width(rows);
    fill_columns(n, group, rows);
    gemm(context_, {.dtype = DType::kFloat64,
                    .m = filters_,
                    .n = wide,
                    .k = depth_,
                    .a = {.data = weight(group), .row_stride = depth_, .column_stride = 1},
                    .b = {.data = columns_, .row_stride = wide, .column_stride = 1},
                    .c = product_});
    const auto* bias = static_cast<const double*>(p_.bias);
    double* const to = out(n, group, rows);
    for (int64_t o = 0; o < filters_; ++o) {
      const double added = bias ? bias[group * filters_ + o] : 0;
      const double* const from = product_ + o * wide;
      for (int64_t i = 0; i < wide; ++i) to[o * windows_.second_stride + i] = from[i] + added;
    }
  }

  void to_data(int64_t n, int64_t group, Rows rows) const {
    gemm(context_, {.dtype = DType::kFloat64,
                    .m = depth_,
                    .n = width(rows),
                    .k = filters_,
                    .a = {.data = weight(group), .row_stride = 1, .column_stride = depth_},
                    .b = {.data = out(n, group, rows), .row_stride = windows_.second_stride, .column_stride = 1},
                    .c = columns_});
    for_runs(n, group, rows, [](double* data, int64_t step, double* columns, int64_t count) {
      for (int64_t i = 0; i < count; ++i) data[i * step] += columns[i];
    });
  }

  void to_weight(int64_t n, int64_t group, Rows rows) const {
    const int64_t wide = width(rows);
    fill_columns(n, group, rows);
    gemm(context_, {.dtype = DType::kFloat64,
                    .m = filters_,
                    .n = depth_,
                    .k = wide,
                    .a = {.data = out(n, group, rows), .row_stride = windows_.second_stride, .column_stride = 1},
                    .b = {.data = columns_, .row_stride = 1, .column_stride = wide},
                    .c = product_});
    double* const sum = weight(group);
    for (int64_t i = 0; i < filters_ * depth_; ++i) sum[i] += product_[i];
  }

  void fill_columns(int64_t n, int64_t group, Rows rows) const {
    std::fill_n(columns_, depth_ * width(rows), 0.0);  // what lies outside the image
    for_runs(n, group, rows, [](const double* data, int64_t step, double* columns, int64_t count) {
      for (int64_t i = 0; i < count; ++i) columns[i] = data[i * step];
    });
  }

  // Calls run(data, step, columns, count) for elements of the image that an element of the window meets one after
  // another along the last axis, and their places in the columns. Several channels at the same time.
  template <class Run>
  void for_runs(int64_t n, int64_t group, Rows rows, Run&& run) const {
    const int64_t elements = taps_[0] * taps_[1] * taps_[2], wide = width(rows);
    parallel_for(channels_, 1, static_cast<double>(depth_ * wide), [&](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c)
        for (int64_t element = 0; element < elements; ++element) {
          const Triple tap{element / (taps_[1] * taps_[2]), element / taps_[2] % taps_[1], element % taps_[2]};
          run_rows(data_.plane(n, group * channels_ + c), columns_ + (c * elements + element) * wide, tap, rows, run);
        }
    });
  }

  template <class Run>
  void run_rows(double* data, double* columns, const Triple& tap, Rows rows, Run& run) const {
    Triple shift;
    for (size_t axis = 0; axis < 3; ++axis) shift[axis] = tap[axis] * dilate_[axis] - pad_[axis];
    const Window& w = p_.window;
    const WindowRange along = w.inside(w.spatial() - 1, tap[2], data_.extent[2], windows_.extent[2]);
    if (along.size() == 0) return;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const int64_t x0 = row / windows_.extent[1] * step_[0] + shift[0];
      const int64_t x1 = row % windows_.extent[1] * step_[1] + shift[1];
      if (x0 < 0 || x0 >= data_.extent[0] || x1 < 0 || x1 >= data_.extent[1]) continue;
      run(data + data_.offset({x0, x1, along.begin * step_[2] + shift[2]}), step_[2] * data_.stride[2],
          columns + (row - rows.begin) * windows_.extent[2] + along.begin, along.size());
    }
  }

  void begin_data() const {
    const auto* bias = static_cast<const double*>(p_.bias);
    for (int64_t n = 0; n < data_.first; ++n)
      for (int64_t c = 0; c < data_.second; ++c) {
        double* const plane = data_.plane(n, c);
        for (int64_t i = 0; i < data_.count(); ++i) plane[data_.offset(data_.position(i))] = bias ? bias[c] : 0;
      }
  }

  KernelContext& context_;
  const ConvolutionProblem& p_;
  const Packed weight_, out_;
  const Grid<double> data_, windows_;
  const Triple step_, dilate_, pad_, taps_;
  const int64_t filters_, channels_;  // of a group
  const int64_t depth_;               // elements of data that a window sees in a group
  const int64_t rows_, rows_of_block_;
  double *const columns_, *const product_;
};

}  // namespace

bool suits_column_products(const ConvolutionProblem& p) {
  if (p.dtype() != DType::kFloat64) return false;
  const int64_t filters = p.weight.shape[0] / p.window.groups, depth = p.weight.size() / p.weight.shape[0];
  return std::min(filters, depth) >= kSmallestMatrix;
}

void column_products(KernelContext& context, const ConvolutionProblem& p) { ColumnProducts(context, p).run(); }

}  // namespace headrace
