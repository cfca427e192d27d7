#include "ops/shape/reshape_codes.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "op/open_extents.h"

namespace headrace {
namespace {

enum class Code { kLiteral, kInfer, kCopy, kDropOne, kCopyRest, kMerge, kSplit };

Code nd_code(int64_t code, const char* operation) {
  switch (code) {
    case 0:
      return Code::kCopy;
    case -1:
      return Code::kInfer;
    case -2:
      return Code::kCopyRest;
    case -3:
      return Code::kMerge;
    case -4:
      return Code::kSplit;
    default:
      check(code > 0, ErrorKind::kRuntime, "{}: {} is no reshape code; use 0, -1, -2, -3, -4 or an extent", operation,
            code);
      return Code::kLiteral;
  }
}

Code npx_code(int64_t code, const char* operation) {
  switch (code) {
    case -1:
      return Code::kInfer;
    case -2:
      return Code::kCopy;
    case -3:
      return Code::kDropOne;
    case -4:
      return Code::kCopyRest;
    case -5:
      return Code::kMerge;
    case -6:
      return Code::kSplit;
    default:
      check(code >= 0, ErrorKind::kRuntime, "{}: {} is no reshape code; use -1 to -6 or an extent", operation, code);
      return Code::kLiteral;
  }
}

// One code with the extents that follow a split.
struct Item {
  Code code;
  int64_t literal = 0, left = 0, right = 0;
};

// Of codes in the order in which they apply; `given` is how the caller wrote them.
std::vector<Item> parse(const Shape& order, Code (*meaning)(int64_t, const char*), const Shape& given,
                        const char* operation) {
  std::vector<Item> items;
  for (size_t i = 0; i < order.size(); ++i) {
    Item item{meaning(order[i], operation), order[i]};
    if (item.code == Code::kSplit) {
      check(i + 2 < order.size(), ErrorKind::kRuntime,
            "{}: the split code {} in {} needs two extents after it (before it with reverse=True)", operation, order[i],
            to_string(given));
      item.left = order[++i];
      item.right = order[++i];
    }
    items.push_back(item);
  }
  return items;
}

// Applies codes to the input's axes from one end to the other.
class Resolver {
 public:
  Resolver(Shape in, const Shape& codes, bool reverse, const char* operation)
      : in_(std::move(in)), codes_(codes), reverse_(reverse), operation_(operation) {}

  void apply(const Item& item) {
    switch (item.code) {
      case Code::kLiteral:
        ++position_;
        out_.push_back(item.literal);
        break;
      case Code::kInfer:
        check(infer_at_ < 0, ErrorKind::kRuntime, "{}: shape {} has more than one extent to infer (-1)", operation_,
              to_string(codes_));
        infer_at_ = static_cast<int64_t>(out_.size());
        ++position_;
        out_.push_back(1);
        break;
      case Code::kCopy:
        copy();
        break;
      case Code::kDropOne: {
        int64_t extent = next();
        check(extent == 1 || extent == -1, ErrorKind::kRuntime,
              "{}: code -3 drops an axis of extent 1, but it is {} in {}", operation_, extent, to_string(in_));
        break;
      }
      case Code::kCopyRest:
        while (position_ < in_.size()) copy();
        break;
      case Code::kMerge: {
        const int64_t pair[] = {next(), next()};
        out_.push_back(open_product(pair));
        break;
      }
      case Code::kSplit:
        split(item);
        break;
    }
  }

  Shape finish() {
    if (infer_at_ >= 0 && is_open(in_)) {
      out_[static_cast<size_t>(infer_at_)] = inferred_beside_open();
    } else if (infer_at_ >= 0) {
      const int64_t size = element_count(in_), known = element_count(out_);
      check(known > 0 && size % known == 0, ErrorKind::kRuntime,
            "{}: cannot infer the extent -1: {} elements do not divide into shape {}", operation_, size,
            to_string(codes_));
      out_[static_cast<size_t>(infer_at_)] = size / known;
    }
    if (reverse_) std::reverse(out_.begin(), out_.end());
    return out_;
  }

 private:
  void copy() {
    out_.push_back(next());
    open_copies_ += out_.back() == -1;
  }

  // What is not known and stands on both sides does not count; -1 where something else is not known.
  int64_t inferred_beside_open() const {
    if (std::ranges::count(in_, -1) != open_copies_) return -1;
    const auto known = [](const Shape& shape) {
      Shape all = shape;
      std::ranges::replace(all, int64_t{-1}, int64_t{1});
      return element_count(all);
    };
    const int64_t from = known(in_), to = known(out_);
    return to > 0 && from % to == 0 ? from / to : -1;
  }

  int64_t next() {
    check(position_ < in_.size(), ErrorKind::kRuntime, "{}: shape {} refers to more axes than the input {} has",
          operation_, to_string(codes_), to_string(in_));
    return in_[position_++];
  }

  void split(const Item& item) {
    int64_t extent = next(), left = item.left, right = item.right;
    check(left > 0 || right > 0, ErrorKind::kRuntime, "{}: at most one extent of a split may be -1 in {}", operation_,
          to_string(codes_));
    if (left < 0) left = extent == -1 ? -1 : extent / right;
    if (right < 0) right = extent == -1 ? -1 : extent / left;
    check(extent == -1 || left * right == extent, ErrorKind::kRuntime, "{}: {} cannot be split into {} x {}",
          operation_, extent, left, right);
    out_.push_back(left);
    out_.push_back(right);
  }

  Shape in_;
  const Shape& codes_;
  bool reverse_;
  const char* operation_;
  size_t position_ = 0;
  int64_t infer_at_ = -1;
  int64_t open_copies_ = 0;  // of extents that are not known
  Shape out_;
};

void check_size(const Shape& in, const Shape& result, const Shape& codes, const char* operation) {
  int64_t size = element_count(in), wanted = element_count(result);
  check(wanted >= size, ErrorKind::kValue,
        "{}: shape {} holds {} elements, but the array {} has {}; the target must not be smaller", operation,
        to_string(codes), wanted, to_string(in), size);
  check(wanted == size, ErrorKind::kRuntime, "{}: shape {} holds {} elements, but the array {} has {}", operation,
        to_string(codes), wanted, to_string(in), size);
}

Shape resolve(const Shape& in, const Shape& codes, bool reverse, Code (*meaning)(int64_t, const char*),
              const char* operation) {
  Shape axes = in, order = codes;
  if (reverse) {
    std::reverse(order.begin(), order.end());
    std::reverse(axes.begin(), axes.end());
  }
  Resolver resolver(std::move(axes), codes, reverse, operation);
  for (const Item& item : parse(order, meaning, codes, operation)) resolver.apply(item);
  Shape result = resolver.finish();
  if (!is_open(in) && !is_open(result)) check_size(in, result, codes, operation);
  return result;
}

Code np_code(int64_t code, const char* operation) {
  check(code >= -1, ErrorKind::kRuntime, "{}: {} is no extent; np.reshape knows -1 and extents from 0 on", operation,
        code);
  return code == -1 ? Code::kInfer : Code::kLiteral;
}

}  // namespace

Shape resolve_nd_reshape(const Shape& in, const Shape& codes, bool reverse, const char* operation) {
  return resolve(in, codes, reverse, nd_code, operation);
}

Shape resolve_npx_reshape(const Shape& in, const Shape& codes, bool reverse, const char* operation) {
  return resolve(in, codes, reverse, npx_code, operation);
}

Shape resolve_np_reshape(const Shape& in, const Shape& shape, const char* operation) {
  return resolve(in, shape, false, np_code, operation);
}

}  // namespace headrace
