#include "op/attrs.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/whole_number.h"

namespace headrace {

const FieldInfo* AttrSchema::find(std::string_view name) const {
  for (const FieldInfo& f : fields)
    if (name == f.name) return &f;
  return nullptr;
}

size_t AttrSchema::argument_count() const {
  return static_cast<size_t>(std::ranges::count(fields, false, &FieldInfo::of_files));
}

namespace {

const char* kind_name(FieldKind kind) {
  switch (kind) {
    case FieldKind::kBool:
      return "a bool";
    case FieldKind::kInt:
      return "an integer";
    case FieldKind::kDouble:
    case FieldKind::kNumber:
      return "a number";
    case FieldKind::kString:
      return "a string";
    case FieldKind::kDType:
      return "a dtype";
    case FieldKind::kShape:
      return "an integer or a tuple of integers";
    case FieldKind::kOptionalInts:
      return "a tuple of integers or None";
    case FieldKind::kDoubles:
      return "a list of numbers";
  }
  return "";
}

[[noreturn]] void refuse(const AttrValue& value, const FieldInfo& field, const char* operation) {
  fail(ErrorKind::kType, "{}: argument '{}' must be {}{}, got {}", operation, field.name, kind_name(field.kind),
       field.nullable ? " or None" : "", attr_to_text(value));
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::optional<int64_t> parse_int(std::string_view text) {
  text = trim(text);
  if (!text.empty() && text.back() == 'L') text.remove_suffix(1);
  return whole_number<int64_t>(text);
}

// Takes the brackets off a list; a single item needs none. False: they do not belong together.
bool unwrap(std::string_view& text) {
  text = trim(text);
  const bool opens = text.starts_with('(') || text.starts_with('['),
             closes = text.ends_with(')') || text.ends_with(']');
  if (!opens && !closes) return !text.empty() && text.find(',') == std::string_view::npos;
  if (text.size() < 2 || text.back() != (text.front() == '(' ? ')' : ']')) return false;
  text = text.substr(1, text.size() - 2);
  return true;
}

// "(2, None, 3)", "[2,3]", "2": nullopt where the text is no such list.
std::optional<OptionalInts> parse_ints(std::string_view text) {
  if (!unwrap(text)) return std::nullopt;
  OptionalInts items;
  while (!trim(text).empty()) {
    size_t comma = text.find(',');
    std::string_view item = trim(text.substr(0, comma));
    if (item == "None") {
      items.push_back(std::nullopt);
    } else {
      std::optional<int64_t> number = parse_int(item);
      if (!number) return std::nullopt;
      items.push_back(*number);
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return items;
}

std::optional<Doubles> parse_doubles(std::string_view text) {
  if (!unwrap(text)) return std::nullopt;
  Doubles items;
  while (!trim(text).empty()) {
    const size_t comma = text.find(',');
    const std::string item(trim(text.substr(0, comma)));
    char* end = nullptr;
    items.push_back(std::strtod(item.c_str(), &end));
    if (item.empty() || *end != 0) return std::nullopt;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return items;
}

// What the text form of an attribute means for a field of this kind.
AttrValue from_text(const std::string& text, const FieldInfo& field, const AttrValue& original, const char* operation) {
  switch (field.kind) {
    case FieldKind::kString:
      return text;
    case FieldKind::kDType:
      return parse_dtype(text);
    case FieldKind::kBool:
      if (text == "True" || text == "true" || text == "1") return true;
      if (text == "False" || text == "false" || text == "0") return false;
      break;
    case FieldKind::kInt:
      if (auto number = parse_int(text)) return *number;
      break;
    case FieldKind::kNumber:
      if (auto number = parse_int(text)) return *number;
      [[fallthrough]];
    case FieldKind::kDouble: {
      char* end = nullptr;
      double number = std::strtod(text.c_str(), &end);
      if (end && *end == 0 && end != text.c_str()) return number;
      break;
    }
    case FieldKind::kDoubles:
      if (auto items = parse_doubles(text)) return *items;
      break;
    default:
      if (auto items = parse_ints(text)) return *items;
  }
  refuse(original, field, operation);
}

void check_choice(const std::string& word, const FieldInfo& field, const char* operation) {
  std::string_view rest = field.choices;
  while (true) {
    size_t bar = rest.find('|');
    if (rest.substr(0, bar) == word) return;
    if (bar == std::string_view::npos) break;
    rest.remove_prefix(bar + 1);
  }
  std::string listed = field.choices;
  for (size_t at; (at = listed.find('|')) != std::string::npos;) listed.replace(at, 1, ", ");
  fail(ErrorKind::kValue, "{}: argument '{}' must be one of {}; got '{}'", operation, field.name, listed, word);
}

AttrValue to_shape(const AttrValue& value, const FieldInfo& field, const char* operation) {
  if (const auto* one = std::get_if<int64_t>(&value)) return Shape{*one};
  if (const auto* items = std::get_if<OptionalInts>(&value)) {
    Shape shape;
    for (const auto& item : *items) {
      if (!item) refuse(value, field, operation);
      shape.push_back(*item);
    }
    return shape;
  }
  refuse(value, field, operation);
}

AttrValue to_doubles(const AttrValue& value, const FieldInfo& field, const char* operation) {
  if (const auto* one = std::get_if<int64_t>(&value)) return Doubles{static_cast<double>(*one)};
  if (const auto* one = std::get_if<double>(&value)) return Doubles{*one};
  if (const auto* items = std::get_if<Shape>(&value)) {
    Doubles numbers;
    for (int64_t item : *items) numbers.push_back(static_cast<double>(item));
    return numbers;
  }
  refuse(value, field, operation);
}

}  // namespace

namespace attrs_detail {

namespace {

AttrValue as_kind(const AttrValue& value, const FieldInfo& field, const char* operation) {
  if (const auto* text = std::get_if<std::string>(&value); text && field.kind != FieldKind::kString)
    return as_kind(from_text(*text, field, value, operation), field, operation);
  switch (field.kind) {
    case FieldKind::kBool:
      if (std::holds_alternative<bool>(value)) return value;
      if (const auto* number = std::get_if<int64_t>(&value)) return *number != 0;
      break;
    case FieldKind::kInt:
      if (std::holds_alternative<int64_t>(value)) return value;
      if (const auto* flag = std::get_if<bool>(&value)) return int64_t{*flag};
      if (const auto* number = std::get_if<double>(&value);
          number && *number == std::floor(*number) && std::abs(*number) < 0x1p63)
        return static_cast<int64_t>(*number);
      break;
    case FieldKind::kDouble:
      if (std::holds_alternative<double>(value)) return value;
      if (const auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
      if (const auto* flag = std::get_if<bool>(&value)) return static_cast<double>(*flag);
      break;
    case FieldKind::kNumber:
      if (std::holds_alternative<double>(value) || std::holds_alternative<int64_t>(value)) return value;
      if (const auto* flag = std::get_if<bool>(&value)) return int64_t{*flag};
      break;
    case FieldKind::kString:
      if (const auto* text = std::get_if<std::string>(&value)) {
        if (field.choices) check_choice(*text, field, operation);
        return value;
      }
      if (const auto* dtype = std::get_if<DType>(&value)) return std::string(dtype_name(*dtype));
      if (!field.choices && (std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value)))
        return attr_to_text(value);
      break;
    case FieldKind::kDType:
      if (std::holds_alternative<DType>(value)) return value;
      break;
    case FieldKind::kShape:
      if (std::holds_alternative<Shape>(value)) return value;
      return to_shape(value, field, operation);
    case FieldKind::kOptionalInts:
      if (std::holds_alternative<OptionalInts>(value)) return value;
      if (const auto* one = std::get_if<int64_t>(&value)) return OptionalInts{*one};
      if (std::holds_alternative<std::monostate>(value)) return OptionalInts{std::nullopt};
      if (const auto* shape = std::get_if<Shape>(&value)) return OptionalInts(shape->begin(), shape->end());
      break;
    case FieldKind::kDoubles:
      if (std::holds_alternative<Doubles>(value)) return value;
      return to_doubles(value, field, operation);
  }
  refuse(value, field, operation);
}

void check_bounds(const AttrValue& value, const FieldInfo& field, const char* operation) {
  const auto [least, most] = field.bounds;
  if (least == -std::numeric_limits<double>::infinity() && most == std::numeric_limits<double>::infinity()) return;
  const auto* whole = std::get_if<int64_t>(&value);
  const double number = whole ? static_cast<double>(*whole) : std::get<double>(value);
  check(number >= least && number <= most, ErrorKind::kValue, "{}: {} must be from {} to {}, got {}", operation,
        field.name, least, most, attr_to_text(value));
}

}  // namespace

AttrValue convert(const AttrValue& value, const FieldInfo& field, const char* operation) {
  AttrValue converted = as_kind(value, field, operation);
  check_bounds(converted, field, operation);
  return converted;
}

}  // namespace attrs_detail

std::string attr_to_text(const AttrValue& value) {
  struct Printer {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool flag) const { return flag ? "True" : "False"; }
    std::string operator()(int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const {
      std::string text = fmt::format("{}", number);
      return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(DType dtype) const { return std::string(dtype_name(dtype)); }
    std::string operator()(const Shape& shape) const { return to_string(shape); }
    std::string operator()(const OptionalInts& items) const {
      std::string text = "(";
      for (const auto& item : items) text += (item ? std::to_string(*item) : "None") + ", ";
      if (items.size() == 1) return text.substr(0, text.size() - 1) + ")";
      return items.empty() ? "()" : text.substr(0, text.size() - 2) + ")";
    }
    std::string operator()(const Doubles& numbers) const { return fmt::format("[{}]", fmt::join(numbers, ", ")); }
  };
  return std::visit(Printer{}, value);
}

std::optional<Shape> shape_from_text(std::string_view text) {
  const std::optional<OptionalInts> items = parse_ints(text);
  if (!items) return std::nullopt;
  Shape shape;
  for (const auto& item : *items) {
    if (!item) return std::nullopt;
    shape.push_back(*item);
  }
  return shape;
}

bool attrs_equal(const Attrs& a, const Attrs& b) {
  if (&a.schema() != &b.schema()) return false;
  for (const FieldInfo& field : a.schema().fields)
    if (field.get(a.data()) != field.get(b.data())) return false;
  return true;
}

}  // namespace headrace
