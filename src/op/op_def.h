// OpDef: all there is to know about an operator except its kernels' inner loops. One value per operator, made once when
// the catalogue is built and immutable afterwards. Python functions, stubs, C++ wrappers, documentation and the generic
// tests are derived from it.
//
// An operator does its work in one of four ways; exactly one of them is set:
//   pointwise  a formula over broadcast inputs (op/pointwise.h)
//   kernel     a function over tensors, with `infer` as its shape and dtype rule
//   as_view    new geometry over the same storage, `kernel` being the copying fallback
//   compose    a sequence of other operators, run in the calling thread; for operators whose result shape depends on
//              values, or which are sums of parts
#pragma once

#include <concepts>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headrace/ndarray.hpp"
#include "op/attr_function.h"
#include "op/attrs.h"
#include "op/sample.h"
#include "op/storage_form.h"

namespace headrace {

class Completion;     // op/rule.h
class Gradient;       // op/gradient.h
class Infer;          // op/rule.h
class KernelContext;  // op/kernel.h
struct OpDef;
struct Pointwise;     // op/pointwise.h
struct Fusion;        // op/fusion.h
struct Quantization;  // op/quantization.h

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Geometry of a view, for as_view.
struct Geometry {
  Shape shape;
  Strides strides;
  int64_t offset = 0;
};

inline constexpr uint32_t kNothing = 0;
inline constexpr uint32_t kEverything = ~0u;

// Of an operator on two arrays: the registered names of those that take a number (attribute "scalar") in place of one,
// the array being their only input.
struct ScalarForms {
  std::string right, left;  // x + 2, 2 + x; empty: there is none
};

// What symbols, and so their files, hold where MXNet has no operator with these attributes: a call of an operator that
// it has. Functions of NumPy with other arguments than MXNet's operators are spelled so.
struct Spelling {
  std::string op;  // a registered name, perhaps the operator's own; empty: the input of number `input`
  std::vector<std::pair<const char*, AttrValue>> attrs = {};  // all that are written
  std::vector<Spelling> inputs = {};                          // none: the inputs of the operator
  size_t input = 0;

  static Spelling of_input(size_t i) { return {.op = {}, .input = i}; }
};

// What MXNet's symbols and files call an operator's arrays, beyond the names of its inputs.
struct ArrayNames {
  std::string inputs = "arg";  // of any number of them: arg0, arg1
  // Behind the name of the node: "mean" for "bn_mean". Missing: "output", or "output0", "output1" of several.
  std::vector<std::string> outputs = {};
  bool numbers_counted = false;  // "output0" also where others are counted and not seen
  // What variables that are inputs start from, as texts of an Initializer; missing or empty: what the program says.
  std::vector<std::string> initial_values = {};
};

// Of an operator whose arguments, names and states are said by the program, not by its entry. It runs code of the
// program: a graph with it is not compiled, and its arrays come to it as they are stored.
struct OpenEnds {
  using Texts = std::map<std::string, std::string>;
  // Attributes that no field names.
  const Texts& (*texts)(const Attrs&) = nullptr;
  void (*set_text)(Attrs&, const std::string& key, const std::string& value) = nullptr;
  AttrFunction<std::string(const Attrs&, size_t)> output_name = {};
  AttrFunction<bool(const Attrs&, size_t)> is_state = {};  // whether an input is an auxiliary state
  explicit operator bool() const noexcept { return texts != nullptr; }
};

// How an operator runs the graphs that are its bodies. A layer has one, which says what it computes.
enum class ControlFlow : uint8_t { kNone, kForeach, kWhile, kCond, kLayer };

struct OpDef {
  std::string name;                  // registered name, as in MXNet's symbol JSON
  std::vector<std::string> aliases;  // further registered names
  // Where Python shows it: "nd.dot", "np.dot", "npx.relu", "nd.random.uniform", "NDArray.exp" (method of nd arrays),
  // "ndarray.exp" (method of np arrays).
  std::vector<std::string> python;
  std::string doc;
  std::vector<std::string> inputs = {"data"};
  std::vector<std::string> np_inputs = {};  // names in np and npx when they differ
  bool variadic = false;                    // any number of arrays, the last of `inputs` naming them all
  size_t optional_inputs = 0;               // how many trailing inputs may be missing
  bool list_input = false;                  // Python passes the variadic arrays as one sequence (np.concatenate)
  ScalarForms scalar_forms = {};            // what frontends call when one of the two arguments is a number

  const AttrSchema* schema = &schema_of<NoAttrs>();
  std::function<IntrusivePtr<Attrs>()> make_attrs = [] { return IntrusivePtr<Attrs>(new AttrsOf<NoAttrs>()); };
  AttrsPtr default_attrs = AttrsPtr(new AttrsOf<NoAttrs>());

  // Number of results; a function of the attributes where it varies (split).
  size_t outputs = 1;
  AttrFunction<size_t(const Attrs&)> output_count = {};
  size_t visible_outputs = 0;  // results that frontends return; 0: all
  // How many outputs MXNet's CPU build counts in files, with those that nobody sees; none: as many as there are.
  AttrFunction<size_t(const Attrs&)> counted_outputs = {};
  ArrayNames array_names = {};
  // Of an input, where it depends on the attributes and its number; empty: as always.
  AttrFunction<std::string(const Attrs&, size_t)> input_name = {};
  ControlFlow control_flow = ControlFlow::kNone;

  // How many of `inputs` these attributes call for, where that varies (no_bias); a graph makes variables of the
  // missing.
  AttrFunction<size_t(const Attrs&)> input_count = {};
  // What shapes say of each other where not all inputs are known: inputs that follow from others or from the results,
  // and extents of results. Without it nothing follows before all are known; then `infer` and its like say the rest.
  AttrFunction<void(Completion&, const Attrs&)> complete = {};
  // The dtype of a result, by its number, from those of the inputs; see op/result_dtype.h for what holds without it.
  AttrFunction<DType(std::span<const DType>, const Attrs&, size_t)> result_dtype = {};

  AttrFunction<void(Infer&, const Attrs&)> infer = {};
  AttrFunction<void(KernelContext&, const Attrs&)> kernel = {};
  AttrFunction<bool(const Geometry&, Geometry&, const Attrs&)> as_view = {};
  AttrFunction<std::vector<NDArray>(std::span<const NDArray>, const Attrs&)> compose = {};
  std::shared_ptr<const Pointwise> pointwise = {};
  std::vector<StorageForm> storage_forms = {};  // kinds of storage that it takes and gives beside dense ones
  bool makes_sparse = false;                    // one of them gives sparse results for dense inputs
  // Of a reduction or a dense layer: the operator that does the same between two formulas, for the graph compiler. Null
  // where that would be slower or change the bits of the results.
  std::function<std::shared_ptr<const OpDef>(const Attrs&, const Fusion&)> fuse = {};
  std::shared_ptr<const Quantization> quantization = {};  // its place in quantized graphs; null: it has none
  // None: symbols hold the operator itself. Takes the number of inputs too.
  AttrFunction<Spelling(const Attrs&, size_t)> spelling = {};

  AttrFunction<void(Gradient&, const Attrs&)> gradient = {};  // none: not differentiable
  bool zero_gradient = false;                                 // differentiable, with gradient zero everywhere
  bool own_gradient = false;  // the gradient is not the slope of all results: a loss, straight through, no statistics
  bool starts_gradient = false;         // a loss: there is a gradient even where none of the results has one
  uint32_t saves_inputs = kEverything;  // bit i: the gradient reads input i (others: shape and dtype only)
  uint32_t saves_outputs = kNothing;
  uint32_t mutates = kNothing;  // bit i: the kernel changes input i in place; in a graph it is an auxiliary state
  bool strided_inputs = false;  // the kernel reads inputs of any strides; otherwise they are packed before it runs
  bool is_random = false;       // draws random numbers: never merged or reordered by graph passes
  // Whether a call in the mode of this thread waits for calls on other devices, which the program states after it: a
  // graph with one is not compiled.
  AttrFunction<bool(const Attrs&)> meets_devices = {};
  std::vector<Sample> samples = {};
  const char* unsampled = nullptr;  // why there are no samples; said where there are none, and only there
  OpenEnds open = {};               // most have none

  bool mutates_input(size_t i) const noexcept { return i < 32 && ((mutates >> i) & 1u); }
  // What errors call it: the registered name, or, where that is not for users, the name of its function in Python.
  const char* shown_name() const noexcept;
};

template <class A>
void set_attrs_type(OpDef& op) {
  op.schema = &schema_of<A>();
  op.make_attrs = [] { return IntrusivePtr<Attrs>(new AttrsOf<A>()); };
  op.default_attrs = AttrsPtr(new AttrsOf<A>());
}

// `op`, moved. An OpDef has so many members that moving one is code worth having once.
OpDef moved(OpDef&& op);

// An operator with attributes A: general<SumAttrs>({.name = "sum", ...}). Its functions take them as a const A&.
template <class A = NoAttrs>
OpDef general(OpDef op) {
  set_attrs_type<A>(op);
  return moved(std::move(op));
}

// Of an operator whose counted outputs do not depend on its attributes.
inline auto always(size_t count) {
  return [count](const Attrs&) { return count; };
}

// The operators of a family, in the order of their documentation: `return {convolution(), deconvolution()};`.
class Operators {
 public:
  Operators() noexcept = default;
  template <std::same_as<OpDef>... Ops>
  Operators(Ops&&... ops) {
    (push_back(std::move(ops)), ...);
  }
  Operators(Operators&&) noexcept;
  Operators& operator=(Operators&&) noexcept;
  ~Operators();

  void push_back(OpDef&& op);
  void append(Operators&& others);
  OpDef& back() noexcept { return all_.back(); }
  size_t size() const noexcept { return all_.size(); }
  auto begin() noexcept { return all_.begin(); }
  auto end() noexcept { return all_.end(); }

 private:
  std::vector<OpDef> all_;
};

}  // namespace headrace
