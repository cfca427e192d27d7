// Typed operator attributes with one field list each. Keyword arguments, text forms (symbol JSON), defaults,
// documentation, equality and hash all follow from the list:
//
//   struct ClipAttrs {
//     double a_min = 0, a_max = 0;
//     static constexpr auto kFields = fields(field(&ClipAttrs::a_min, "a_min", "Lower bound.").required(),
//                                            field(&ClipAttrs::a_max, "a_max", "Upper bound.").required());
//   };
//
// Attrs objects are immutable once made and may be shared between threads.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "base/ref_counted.h"
#include "base/slab.h"
#include "headrace/attr_value.hpp"

namespace headrace {

// A number as it was written: integers keep all their digits.
using Number = std::variant<int64_t, double>;
inline double as_double(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

enum class FieldKind : uint8_t { kBool, kInt, kDouble, kNumber, kString, kDType, kShape, kOptionalInts, kDoubles };

// The numbers that a field takes.
struct Bounds {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
};

inline constexpr double kMostInt = 2147483647;

// One attribute as seen by frontends.
struct FieldInfo {
  const char* name;
  const char* doc;
  FieldKind kind;
  bool nullable;  // None is a value
  bool required;
  const char* choices;  // "clip|wrap|raise", or null
  bool of_files;        // no argument of the functions that users call; such fields come last
  bool counts_inputs;   // says how many inputs a node of any number of them has
  Bounds bounds;
  size_t offset;  // of the member inside the attribute struct
  AttrValue (*get)(const void* attrs);
  void (*set)(void* attrs, const AttrValue& value, const FieldInfo& field, const char* operation);
};

// The type-erased face of one attribute struct.
struct AttrSchema {
  std::vector<FieldInfo> fields;
  const FieldInfo* find(std::string_view name) const;
  // How many of them Python functions take.
  size_t argument_count() const;
};

class Attrs {
 public:
  virtual ~Attrs() = default;
  virtual const void* data() const noexcept = 0;
  virtual void* mutable_data() noexcept = 0;  // only before the object is shared
  const AttrSchema& schema() const noexcept { return *schema_; }
  template <class A>
  const A& as() const noexcept {
    return *static_cast<const A*>(data());
  }

 protected:
  explicit Attrs(const AttrSchema* schema) noexcept : schema_(schema) {}

 private:
  friend void add_reference(const Attrs* attrs) noexcept { attrs->references_.fetch_add(1, std::memory_order_relaxed); }
  friend void release_reference(const Attrs* attrs) noexcept {
    if (attrs->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete attrs;
  }
  const AttrSchema* schema_;
  mutable std::atomic<uint32_t> references_{0};
};

using AttrsPtr = IntrusivePtr<const Attrs>;

// --- the field list -------------------------------------------------------------------------------------------------

template <class A, class T>
struct Field {
  T A::*member;
  const char* name;
  const char* doc;
  bool is_required = false;
  const char* allowed = nullptr;
  bool is_of_files = false;
  bool is_count = false;
  Bounds bounds = {};

  // The caller must give it.
  constexpr Field required() const {
    Field f = *this;
    f.is_required = true;
    return f;
  }
  // One of the words of "clip|wrap|raise".
  constexpr Field one_of(const char* words) const {
    Field f = *this;
    f.allowed = words;
    return f;
  }
  // Other numbers make no sense whatever the arrays are.
  constexpr Field between(double least, double most) const {
    Field f = *this;
    f.bounds = {least, most};
    return f;
  }
  // How many inputs there are, of an operator that takes any number.
  constexpr Field counts_inputs() const {
    Field f = *this;
    f.is_count = true;
    return f;
  }
  // Known to symbol files alone: what MXNet writes with a node and Python does not take.
  constexpr Field of_files() const {
    Field f = *this;
    f.is_of_files = true;
    return f;
  }
};

template <class A, class T>
constexpr Field<A, T> field(T A::*member, const char* name, const char* doc) {
  return {member, name, doc};
}

template <class... F>
constexpr std::tuple<F...> fields(F... list) {
  return {list...};
}

struct NoAttrs {
  static constexpr auto kFields = fields();
};

// The one scalar of `x + 2`.
struct ScalarAttrs {
  double scalar = 1;
  bool is_int = true;
  static constexpr auto kFields =
      fields(field(&ScalarAttrs::scalar, "scalar", "The scalar operand."),
             field(&ScalarAttrs::is_int, "is_int", "Whether the scalar was written as an integer."));
};

namespace attrs_detail {

template <class T>
struct Strip {
  using type = T;
  static constexpr bool kNullable = false;
};
template <class T>
struct Strip<std::optional<T>> {
  using type = T;
  static constexpr bool kNullable = true;
};

template <class T>
constexpr FieldKind kind_of() {
  if constexpr (std::is_same_v<T, bool>)
    return FieldKind::kBool;
  else if constexpr (std::is_same_v<T, int64_t>)
    return FieldKind::kInt;
  else if constexpr (std::is_same_v<T, double>)
    return FieldKind::kDouble;
  else if constexpr (std::is_same_v<T, Number>)
    return FieldKind::kNumber;
  else if constexpr (std::is_same_v<T, std::string>)
    return FieldKind::kString;
  else if constexpr (std::is_same_v<T, DType>)
    return FieldKind::kDType;
  else if constexpr (std::is_same_v<T, Shape>)
    return FieldKind::kShape;
  else if constexpr (std::is_same_v<T, OptionalInts>)
    return FieldKind::kOptionalInts;
  else if constexpr (std::is_same_v<T, Doubles>)
    return FieldKind::kDoubles;
}

// Converts a value to the field's kind (int to double, text to anything, int to 1-tuple ...). Raises TypeError or
// ValueError, for a number outside of the field's bounds as well, naming operation and field.
AttrValue convert(const AttrValue& value, const FieldInfo& field, const char* operation);

template <class T>
AttrValue to_value(const T& member) {
  if constexpr (std::is_same_v<T, Number>)
    return std::visit([](auto number) { return AttrValue(number); }, member);
  else
    return AttrValue(member);
}

template <class A, auto kIndex>
FieldInfo describe() {
  constexpr auto f = std::get<kIndex>(A::kFields);
  using Member = std::remove_reference_t<decltype(std::declval<A&>().*f.member)>;
  using T = typename Strip<Member>::type;
  FieldInfo info{};
  info.name = f.name;
  info.doc = f.doc;
  info.kind = kind_of<T>();
  info.nullable = Strip<Member>::kNullable;
  info.required = f.is_required;
  info.choices = f.allowed;
  info.of_files = f.is_of_files;
  info.counts_inputs = f.is_count;
  info.bounds = f.bounds;
  const A sample{};
  info.offset =
      static_cast<size_t>(reinterpret_cast<const char*>(&(sample.*f.member)) - reinterpret_cast<const char*>(&sample));
  info.get = [](const void* attrs) -> AttrValue {
    const auto& member = static_cast<const A*>(attrs)->*std::get<kIndex>(A::kFields).member;
    if constexpr (Strip<Member>::kNullable) {
      if (!member) return std::monostate{};
      return to_value<T>(*member);
    } else {
      return to_value<T>(member);
    }
  };
  info.set = [](void* attrs, const AttrValue& value, const FieldInfo& field, const char* operation) {
    auto& member = static_cast<A*>(attrs)->*std::get<kIndex>(A::kFields).member;
    if constexpr (Strip<Member>::kNullable) {
      if (std::holds_alternative<std::monostate>(value)) {
        member.reset();
        return;
      }
    }
    const AttrValue converted = convert(value, field, operation);
    if constexpr (std::is_same_v<T, Number>) {
      if (const auto* integer = std::get_if<int64_t>(&converted))
        member = *integer;
      else
        member = std::get<double>(converted);
    } else {
      member = std::get<T>(converted);
    }
  };
  return info;
}

}  // namespace attrs_detail

// The schema of attribute struct A, made once and never destroyed: threads may compute while the process ends.
template <class A>
const AttrSchema& schema_of() {
  static const AttrSchema& schema = *new AttrSchema([] {
    AttrSchema s;
    [&]<size_t... I>(std::index_sequence<I...>) { (s.fields.push_back(attrs_detail::describe<A, I>()), ...); }
    (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(A::kFields)>>>{});
    return s;
  }());
  return schema;
}

template <class A>
class AttrsOf final : public Attrs {
 public:
  AttrsOf() : Attrs(&schema_of<A>()) {}
  explicit AttrsOf(A v) : Attrs(&schema_of<A>()), value(std::move(v)) {}
  const void* data() const noexcept override { return &value; }
  void* mutable_data() noexcept override { return &value; }

  // `x + 1` makes one of these.
  static void* operator new(size_t size) { return slab_allocate(size); }
  static void operator delete(void* pointer, size_t size) noexcept { slab_release(pointer, size); }

  A value;
};

// An immutable attribute object from a struct: make_attrs(ClipAttrs{.a_min = 0, .a_max = 1}).
template <class A>
AttrsPtr make_attrs(A value) {
  return AttrsPtr(new AttrsOf<A>(std::move(value)));
}

// Text forms, as in symbol JSON: "(3, 3)", "None", "True", "0.5", "float32".
std::string attr_to_text(const AttrValue& value);
std::optional<Shape> shape_from_text(std::string_view text);
bool attrs_equal(const Attrs& a, const Attrs& b);

}  // namespace headrace
