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

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "headrace/ndarray.hpp"
#include "op/attrs.h"

namespace headrace {

class Var;
class Storage;
struct OpDef;
struct Pointwise;     // op/pointwise.h
struct Surroundings;  // op/surroundings.h

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The shape/dtype rule of a kernel operator: reads input types, states output types and cost. Runs in the calling
// thread, before anything is queued; what is wrong with the call is raised here.
class Infer {
 public:
  struct Type {
    Shape shape;
    DType dtype;
    Strides strides;
  };
  Infer(const OpDef& op, std::span<const NDArray> inputs, bool is_abstract = false) noexcept
      : op_(op), inputs_(inputs), is_abstract_(is_abstract) {}

  const char* name() const noexcept;
  size_t input_count() const noexcept { return inputs_.size(); }
  const Shape& shape(size_t i) const noexcept { return inputs_[i].shape(); }
  DType dtype(size_t i) const noexcept { return inputs_[i].dtype(); }
  int64_t size(size_t i) const noexcept { return inputs_[i].size(); }
  const NDArray& input(size_t i) const noexcept { return inputs_[i]; }

  void output(const Shape& shape, DType dtype) { outputs_.push_back({shape, dtype, contiguous_strides(shape)}); }
  // The kernel writes this result with other strides, which must be dense: how images stay channels-last between
  // operators.
  void output(const Shape& shape, DType dtype, const Strides& strides) { outputs_.push_back({shape, dtype, strides}); }
  const Strides& strides(size_t i) const noexcept { return inputs_[i].strides(); }
  // Estimated nanoseconds on one core; the default is the time to stream all inputs and outputs.
  void cost(double nanoseconds) noexcept { cost_ = nanoseconds; }
  // Floating-point operations, where arithmetic and not memory decides how long it takes.
  void flops(double operations) noexcept { flops_ = operations; }
  // Where the results live; the default is the device of the inputs, or the thread's device.
  void device(Device device) noexcept { device_ = device; }
  // The task also changes what `var` orders (a generator's state).
  void also_writes(Var& var) noexcept { resource_ = &var; }
  // A number fixed when the operation is issued, which the kernel reads back (a counter of random numbers).
  void ticket(uint64_t value) noexcept { ticket_ = value; }

  template <class... Args>
  void require(bool condition, ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) const {
    if (!condition) [[unlikely]]
      fail(kind, "{}: {}", name(), fmt::format(text, std::forward<Args>(args)...));
  }

  // The operation is linked into a graph and does not run now: it must not draw or count anything.
  bool is_abstract() const noexcept { return is_abstract_; }
  const std::vector<Type>& outputs() const noexcept { return outputs_; }
  double cost() const noexcept { return cost_; }
  double flops() const noexcept { return flops_; }
  const std::optional<Device>& device() const noexcept { return device_; }
  Var* resource() const noexcept { return resource_; }
  uint64_t ticket() const noexcept { return ticket_; }

 private:
  const OpDef& op_;
  std::span<const NDArray> inputs_;
  std::vector<Type> outputs_;
  double cost_ = -1;
  double flops_ = 0;
  std::optional<Device> device_;
  Var* resource_ = nullptr;
  uint64_t ticket_ = 0;
  bool is_abstract_;
};

// Shapes that follow from those of other inputs (a weight's from the data's) or of the results (a batch size), for
// graphs whose variables have no shape yet. An extent of -1 is unknown; no shape at all is none.
class Completion {
 public:
  using Shapes = std::span<std::optional<Shape>>;
  // Without `outputs` nothing is said or known of the results.
  Completion(const char* name, Shapes shapes, Shapes outputs = {}) noexcept
      : name_(name), shapes_(shapes), outputs_(outputs) {}
  const char* name() const noexcept { return name_; }
  size_t input_count() const noexcept { return shapes_.size(); }
  // All extents, or the number of them.
  bool is_known(size_t i) const noexcept;
  bool has_rank(size_t i) const noexcept { return i < shapes_.size() && shapes_[i]; }
  const Shape& shape(size_t i) const noexcept { return *shapes_[i]; }
  // Fills in what is unknown of input i, which may be absent. Raises MXNetError when what is known differs.
  void set(size_t i, const Shape& shape);
  // The same for results.
  bool has_output_rank(size_t i = 0) const noexcept { return i < outputs_.size() && outputs_[i]; }
  const Shape& output(size_t i = 0) const noexcept { return *outputs_[i]; }
  void set_output(size_t i, const Shape& shape);
  // All inputs and the first result have one shape.
  void set_all_equal();

 private:
  void fill(Shapes shapes, size_t i, const Shape& shape) const;

  const char* name_;
  Shapes shapes_, outputs_;
};

// What a kernel sees of one array. Row-major and packed, except for inputs of an operator that says strided_inputs and
// for outputs for which its rule gave strides.
struct Tensor {
  void* data;
  DType dtype;
  const Shape& shape;
  const Strides& strides;  // in elements
  int64_t size;
  Storage* storage = nullptr;  // in whose memory it lies; null for memory of the run alone

  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data);
  }
};

// One run of a kernel, on the thread that runs the task.
class KernelContext {
 public:
  KernelContext(const OpDef& op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                uint64_t ticket) noexcept
      : op_(op), inputs_(inputs), outputs_(outputs), ticket_(ticket) {}
  KernelContext(const KernelContext&) = delete;
  ~KernelContext();

  const char* name() const noexcept;
  size_t input_count() const noexcept { return inputs_.size(); }
  size_t output_count() const noexcept { return outputs_.size(); }
  const Tensor& input(size_t i) const noexcept { return inputs_[i]; }
  const Tensor& output(size_t i) const noexcept { return outputs_[i]; }
  uint64_t ticket() const noexcept { return ticket_; }
  // Scratch memory, 64-byte aligned, valid until the kernel returns or calls release_workspace().
  void* workspace(size_t bytes);
  void release_workspace() noexcept;
  template <class T>
  T* workspace(int64_t count) {
    return static_cast<T*>(workspace(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  struct Block {
    void* data;
    size_t bytes;
  };
  const OpDef& op_;
  std::span<const Tensor> inputs_, outputs_;
  uint64_t ticket_;
  SmallVector<Block, 4> blocks_;
};

// One backward step of an operator, written with operators: it may itself be recorded, which gives higher derivatives.
class Gradient {
 public:
  Gradient(const Node& node, std::span<const NDArray> inputs, std::span<const NDArray> outputs,
           std::span<const NDArray> heads, std::span<NDArray> results, std::span<const NDArray> targets,
           std::span<const uint8_t> wanted) noexcept
      : node_(node),
        inputs_(inputs),
        outputs_(outputs),
        heads_(heads),
        results_(results),
        targets_(targets),
        wanted_(wanted) {}

  const OpDef& op() const noexcept;
  const AttrsPtr& attrs() const noexcept;
  size_t input_count() const noexcept { return inputs_.size(); }
  // Saved arrays; of those not named in saves_*, only shape and dtype may be used.
  const NDArray& input(size_t i) const noexcept { return inputs_[i]; }
  const NDArray& output(size_t i = 0) const noexcept { return outputs_[i]; }
  // Gradient of the result with respect to output i. None where nothing reached that output.
  const NDArray& head(size_t i = 0) const noexcept { return heads_[i]; }
  bool has_head(size_t i) const noexcept { return static_cast<bool>(heads_[i]); }
  // Whether anybody asks for the gradient of input i.
  bool wants(size_t i) const noexcept;
  void set(size_t i, NDArray gradient) { results_[i] = std::move(gradient); }
  // The buffer where the caller would like to have the gradient of input i; none: anywhere.
  const NDArray& target(size_t i) const noexcept { return targets_[i]; }
  // Sets the gradients of input i and those after it to the outputs of `op`, computed in place where the caller has
  // buffers for them.
  void set(size_t i, const OpDef& op, AttrsPtr attrs, std::span<const NDArray> inputs);

 private:
  const Node& node_;
  std::span<const NDArray> inputs_, outputs_, heads_;
  std::span<NDArray> results_;
  std::span<const NDArray> targets_;
  std::span<const uint8_t> wanted_;
};

// Geometry of a view, for as_view.
struct Geometry {
  Shape shape;
  Strides strides;
  int64_t offset = 0;
};

// --- samples: what the generic tests call the operator with ----------------------------------------------------------

struct SampleArray {
  Shape shape;
  DType dtype = DType::kFloat32;
  double low = -2, high = 2;   // values are uniform in [low, high) unless listed
  std::vector<double> values;  // listed values, row-major
};
inline SampleArray uniform(Shape shape, double low = -2, double high = 2, DType dtype = DType::kFloat32) {
  return {std::move(shape), dtype, low, high, {}};
}
inline SampleArray values(std::vector<double> list, DType dtype = DType::kFloat32) {
  Shape shape{static_cast<int64_t>(list.size())};
  return {std::move(shape), dtype, 0, 0, std::move(list)};
}
inline SampleArray integers(Shape shape, int64_t low, int64_t high, DType dtype = DType::kInt32) {
  return {std::move(shape), dtype, static_cast<double>(low), static_cast<double>(high), {}};
}

// One call: its arrays and attributes.
struct Sample {
  std::vector<SampleArray> inputs;
  AttrsPtr attrs;  // null: defaults
  Sample(SampleArray one) { inputs.push_back(std::move(one)); }
  Sample(std::vector<SampleArray> all, AttrsPtr a = {}) : inputs(std::move(all)), attrs(std::move(a)) {}
};

// --- the operator ----------------------------------------------------------------------------------------------------

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
  std::function<size_t(const Attrs&)> output_count = {};
  size_t visible_outputs = 0;  // results that frontends return; 0: all

  // How many of `inputs` these attributes call for, where that varies (no_bias); a graph makes variables of the
  // missing.
  std::function<size_t(const Attrs&)> input_count = {};
  // Completes the shapes of inputs that follow from others or from the results. What results have follows from `infer`
  // and its like; only what can be told without knowing all inputs is said here as well.
  std::function<void(Completion&, const Attrs&)> complete = {};

  std::function<void(Infer&, const Attrs&)> infer = {};
  std::function<void(KernelContext&, const Attrs&)> kernel = {};
  std::function<bool(const Geometry& in, Geometry& out, const Attrs&)> as_view = {};
  std::function<std::vector<NDArray>(std::span<const NDArray>, const Attrs&)> compose = {};
  std::shared_ptr<const Pointwise> pointwise = {};
  // Of a reduction or a dense layer: the operator that does the same between two formulas, for the graph compiler. Null
  // where that would be slower or change the bits of the results.
  std::function<std::shared_ptr<const OpDef>(const Attrs&, const Surroundings&)> surround = {};
  // None: symbols hold the operator itself. Takes the number of inputs too.
  std::function<Spelling(const Attrs&, size_t)> spelling = {};

  std::function<void(Gradient&, const Attrs&)> gradient = {};  // none: not differentiable
  bool zero_gradient = false;                                  // differentiable, with gradient zero everywhere
  uint32_t saves_inputs = kEverything;  // bit i: the gradient reads input i (others: shape and dtype only)
  uint32_t saves_outputs = kNothing;
  uint32_t mutates = kNothing;  // bit i: the kernel changes input i in place; in a graph it is an auxiliary state
  bool strided_inputs = false;  // the kernel reads inputs of any strides; otherwise they are packed before it runs
  bool is_random = false;       // draws random numbers: never merged or reordered by graph passes
  std::vector<Sample> samples = {};

  bool mutates_input(size_t i) const noexcept { return i < 32 && ((mutates >> i) & 1u); }
};

// The generic parts of a typed kernel operator, to be given with designated initialisers.
template <class A>
struct General {
  std::string name;
  std::vector<std::string> aliases = {};
  std::vector<std::string> python = {};
  std::string doc = {};
  std::vector<std::string> inputs = {"data"};
  std::vector<std::string> np_inputs = {};
  bool variadic = false;
  size_t optional_inputs = 0;
  bool list_input = false;
  size_t outputs = 1;
  std::function<size_t(const A&)> output_count = {};
  size_t visible_outputs = 0;
  std::function<size_t(const A&)> input_count = {};
  std::function<void(Completion&, const A&)> complete = {};
  std::function<void(Infer&, const A&)> infer = {};
  std::function<void(KernelContext&, const A&)> kernel = {};
  std::function<bool(const Geometry& in, Geometry& out, const A&)> as_view = {};
  std::function<std::vector<NDArray>(std::span<const NDArray>, const A&)> compose = {};
  std::function<Spelling(const A&, size_t)> spelling = {};
  std::function<void(Gradient&, const A&)> gradient = {};
  bool zero_gradient = false;
  uint32_t saves_inputs = kEverything;
  uint32_t saves_outputs = kNothing;
  uint32_t mutates = kNothing;
  bool strided_inputs = false;
  bool is_random = false;
  std::vector<Sample> samples = {};
};

template <class A>
void set_attrs_type(OpDef& op) {
  op.schema = &schema_of<A>();
  op.make_attrs = [] { return IntrusivePtr<Attrs>(new AttrsOf<A>()); };
  op.default_attrs = AttrsPtr(new AttrsOf<A>());
}

// An operator with attributes A: general<SumAttrs>({.name = "sum", ...}).
template <class A = NoAttrs>
OpDef general(General<A> g) {
  OpDef op;
  set_attrs_type<A>(op);
  op.name = std::move(g.name);
  op.aliases = std::move(g.aliases);
  op.python = std::move(g.python);
  op.doc = std::move(g.doc);
  op.inputs = std::move(g.inputs);
  op.np_inputs = std::move(g.np_inputs);
  op.variadic = g.variadic;
  op.optional_inputs = g.optional_inputs;
  op.list_input = g.list_input;
  op.outputs = g.outputs;
  op.visible_outputs = g.visible_outputs;
  if (g.output_count) op.output_count = [f = std::move(g.output_count)](const Attrs& a) { return f(a.as<A>()); };
  if (g.input_count) op.input_count = [f = std::move(g.input_count)](const Attrs& a) { return f(a.as<A>()); };
  if (g.complete) op.complete = [f = std::move(g.complete)](Completion& c, const Attrs& a) { f(c, a.as<A>()); };
  if (g.infer) op.infer = [f = std::move(g.infer)](Infer& i, const Attrs& a) { f(i, a.as<A>()); };
  if (g.kernel) op.kernel = [f = std::move(g.kernel)](KernelContext& c, const Attrs& a) { f(c, a.as<A>()); };
  if (g.as_view)
    op.as_view = [f = std::move(g.as_view)](const Geometry& in, Geometry& out, const Attrs& a) {
      return f(in, out, a.as<A>());
    };
  if (g.compose)
    op.compose = [f = std::move(g.compose)](std::span<const NDArray> in, const Attrs& a) { return f(in, a.as<A>()); };
  if (g.spelling)
    op.spelling = [f = std::move(g.spelling)](const Attrs& a, size_t inputs) { return f(a.as<A>(), inputs); };
  if (g.gradient) op.gradient = [f = std::move(g.gradient)](Gradient& d, const Attrs& a) { f(d, a.as<A>()); };
  op.zero_gradient = g.zero_gradient;
  op.saves_inputs = g.saves_inputs;
  op.saves_outputs = g.saves_outputs;
  op.mutates = g.mutates;
  op.strided_inputs = g.strided_inputs;
  op.is_random = g.is_random;
  op.samples = std::move(g.samples);
  return op;
}

}  // namespace headrace
