#include "headrace/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

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

// Goes through the entries of an axis that are written; `at_gap` stands for those between.
template <class Visit, class Gap>
void for_shown(int64_t extent, bool whole, const Visit& visit, const Gap& at_gap) {
  for (int64_t i = 0; i < extent; ++i) {
    if (!whole && extent > 2 * kEdge && i == kEdge) {
      at_gap();
      i = extent - kEdge;
    }
    visit(i);
  }
}

class Writer {
 public:
  Writer(std::ostream& out, const NDArray& array)
      : out_(out), shape_(array.shape()), text_(texts_of(array)), whole_(array.size() <= kMostWhole) {
    measure(0, 0);
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
    for_shown(
        shape_[axis], whole_,
        [&](int64_t i) {
          separate();
          write(axis + 1, offset * shape_[axis] + i);
        },
        [&] {
          separate();
          out_ << "...";
        });
    out_ << ']';
  }

 private:
  // Makes width_ that of the longest text.
  void measure(size_t axis, int64_t offset) {
    if (axis == shape_.size()) {
      width_ = std::max(width_, text_(offset).size());
      return;
    }
    for_shown(
        shape_[axis], whole_, [&](int64_t i) { measure(axis + 1, offset * shape_[axis] + i); }, [] {});
  }

  std::ostream& out_;
  const Shape& shape_;
  const TextAt text_;
  const bool whole_;
  size_t width_ = 0;
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
