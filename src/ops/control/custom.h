// Operators that a program brings along: what the operator Custom runs. The frontend in whose language they are written
// says how they are made; the core asks them for shapes and dtypes, and has them run.
//
// A call runs in the thread that makes it, when it is made: the operations that the program's code issues are
// asynchronous as all others, and ordered by the arrays that they touch, but the code itself is not a task. So it may
// wait for its arrays, start threads or call custom operators, and what it raises comes out of the call. A graph with
// such an operator runs operator by operator.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/ndarray.hpp"
#include "op/attrs.h"

namespace headrace {

using CustomTexts = std::map<std::string, std::string>;

// An operator of the program with the arguments of one call or node. Any thread; what its code raises passes through.
class CustomProperty {
 public:
  struct Names {
    std::vector<std::string> inputs, outputs, states;
  };
  explicit CustomProperty(Names names) : names_(std::move(names)) {}
  virtual ~CustomProperty() = default;
  const Names& names() const noexcept { return names_; }
  size_t array_count() const noexcept { return names_.inputs.size() + names_.states.size(); }

  // Of inputs, outputs and states, one after the other, from those of the inputs; an unknown shape is empty. Raises
  // Error.
  virtual std::vector<Shape> shapes(std::span<const Shape> inputs) const = 0;
  virtual std::vector<DType> dtypes(std::span<const DType> inputs) const = 0;
  // The outputs, of these types, from inputs and states; puts itself on the tape.
  virtual std::vector<NDArray> run(std::span<const NDArray> arrays, std::span<const NDArray> types) const = 0;

 private:
  const Names names_;
};

// Makes the operator of a name. Raises Error where there is none or it refuses the texts.
using CustomFactory =
    std::function<std::shared_ptr<const CustomProperty>(const std::string& op_type, const CustomTexts& texts)>;
// Before the first call.
void set_custom_factory(CustomFactory make);

struct CustomAttrs {
  // The property, made when it is first asked for; each copy has its own.
  class Property {
   public:
    Property() = default;
    Property(const Property&) noexcept {}
    Property& operator=(const Property&) = delete;

   private:
    friend struct CustomAttrs;
    mutable std::atomic<std::shared_ptr<const CustomProperty>> made_;
  };

  std::string op_type;
  CustomTexts texts = {};  // what else was given, for the property
  Property made = {};
  const CustomProperty& property() const;

  static constexpr auto kFields =
      fields(field(&CustomAttrs::op_type, "op_type", "The name under which the operator was registered.").required());
};

}  // namespace headrace
