#include "headrace/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "op/invoke.h"

namespace headrace {
namespace {

constexpr int64_t kMostWhole = 1000;  // elements of an array that is written whole
constexpr int64_t kEdge = 3;          // of others: entries at each end of an axis

std::string text_of(double number) {
  std::string text = fmt::format("{:.6g}", number);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + "." : text;
}
std::string text_of(float number) { return text_of(static_cast<double>(number)); }
std::string text_of(bool truth) { return truth ? "true" : "false"; }
std::string text_of(int64_t number) { return fmt::format("{}", number); }
std::string text_of(uint64_t number) { return fmt::format("{}", number); }

using TextAt = std::function<std::string(int64_t)>;

template <class T>
TextAt texts(const NDArray& array) {
  auto values = std::make_shared<T[]>(static_cast<size_t>(array.size()));
  array.copy_to_host(values.get());
  return [values](int64_t i) { return text_of(values[static_cast<size_t>(i)]); };
}

// The text of the element at a row-major position.
TextAt texts_of(const NDArray& array) {
  const DType dtype = array.dtype();
  if (dtype == DType::kBool) return texts<bool>(array);
  if (dtype == DType::kFloat64) return texts<double>(array);
  if (dtype == DType::kUint64) return texts<uint64_t>(array);
  if (is_floating(dtype)) return texts<float>(cast_to(array, DType::kFloat32));
  return texts<int64_t>(cast_to(array, DType::kInt64));
}

// Along one axis.
NDArray without_middle(const NDArray& array, size_t axis) {
  const auto part = [&](int64_t begin, int64_t end) {
    return call("slice_axis", {array}, {{"axis", static_cast<int64_t>(axis)}, {"begin", begin}, {"end", end}});
  };
  const int64_t extent = array.shape()[axis];
  return call("Concat", {part(0, kEdge), part(extent - kEdge, extent)},
              {{"num_args", int64_t{2}}, {"dim", static_cast<int64_t>(axis)}});
}

class Writer {
 public:
  Writer(std::ostream& out, const NDArray& array) : out_(out), has_gap_(array.shape().size()) {
    NDArray shown = array.off_tape();
    for (size_t axis = 0; axis < has_gap_.size() && array.size() > kMostWhole; ++axis) {
      has_gap_[axis] = array.shape()[axis] > 2 * kEdge;
      if (has_gap_[axis]) shown = without_middle(shown, axis);
    }
    shape_ = shown.shape();
    text_ = texts_of(shown);
    for (int64_t i = 0; i < shown.size(); ++i) width_ = std::max(width_, text_(i).size());
  }

  void write(size_t axis = 0, int64_t offset = 0) {
    if (axis == shape_.size()) {
      out_ << fmt::format("{:>{}}", text_(offset), width_);
      return;
    }
    bool first = true;
    const auto separate = [&] {
      const size_t below = shape_.size() - axis - 1;  // axes of one entry
      if (!first) out_ << (below ? std::string(below, '\n') + std::string(axis + 1, ' ') : " ");
      first = false;
    };
    out_ << '[';
    for (int64_t i = 0; i < shape_[axis]; ++i) {
      if (has_gap_[axis] && i == kEdge) {
        separate();
        out_ << "...";
      }
      separate();
      write(axis + 1, offset * shape_[axis] + i);
    }
    out_ << ']';
  }

 private:
  std::ostream& out_;
  std::vector<bool> has_gap_;  // of each axis whether its middle is left out
  Shape shape_;                // of what is written
  TextAt text_;
  size_t width_ = 0;  // of the longest text
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const NDArray& array) {
  if (!array) return out << "<no array>";
  const bool is_dense = array.storage_kind() == StorageKind::kDense;
  if (is_dense) {
    check_has_values(array, "operator<<");
    Writer(out, array).write();
    out << '\n';
  }
  const std::string kind = is_dense ? "" : std::string(storage_kind_name(array.storage_kind())) + " ";
  return out << fmt::format("<{}NDArray {} @{}>", kind, fmt::join(array.shape(), "x"), to_string(array.device()));
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << std::string(to_string(shape)); }
std::ostream& operator<<(std::ostream& out, const Device& device) { return out << to_string(device); }
std::ostream& operator<<(std::ostream& out, DType dtype) { return out << dtype_name(dtype); }

}  // namespace headrace
