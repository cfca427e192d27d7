// Calls of operators on arrays.

#include <algorithm>

#include "arguments.h"
#include "convert.h"
#include "ndarray/view.h"
#include "op/invoke.h"
#include "op/invoke_by_name.h"
#include "op/thread_state.h"
#include "ufunc_keywords.h"

namespace headrace::python {
namespace {

class ArrayCall : public Arguments<ArrayCall> {
 public:
  using Arguments::Arguments;

  static bool is_operand(PyObject* object) { return is_array(object); }

  void set_field(const FieldInfo& field, PyObject* value) {
    given_ |= uint64_t{1} << (&field - op_.schema->fields.data());
    // None means "not given" where None is no value of the field.
    if (value == Py_None && !field.nullable && field.kind != FieldKind::kOptionalInts) return;
    field.set(writable(), to_attr_value(value, field, name()), field, name());
  }

  void other_keyword(PyObject* key, PyObject* value) {
    const std::string_view text = utf8(key);
    if (text == "name" || (text == "ctx" && value == Py_None)) return;
    if (op_.open) {
      writable();
      return op_.open.set_text(*attrs_, std::string(text), text_of(value));
    }
    if (f_.np && is_ufunc_default(op_, name(), key, value)) return;
    if (!f_.np && op_.schema->fields.empty()) return;  // as in MXNet, where nothing reads attributes of such operators
    if (!f_.np && text.starts_with("__") && text.ends_with("__")) return;  // likewise: symbols keep them
    fail(ErrorKind::kType, "{}: unexpected keyword argument '{}'; the arguments are {}out, name", name(), text,
         known_arguments());
  }

  bool take_behind(size_t place, PyObject* value) {
    if (place == 0 && value != Py_None && !is_array(value) && !PyList_Check(value) && !PyTuple_Check(value))
      return false;
    if (place == 0) set_out(value);
    return place < 2;  // out, name
  }

  PyObject* run() {
    if (is_pair_with_number()) return run_with_number();
    constexpr size_t kFew = 4;
    NDArray few[kFew];
    std::vector<NDArray> many(operands_.size() > kFew ? operands_.size() : 0);
    NDArray* first = many.empty() ? few : many.data();
    const size_t required = operands_.size() - (op_.variadic ? 0 : op_.optional_inputs);
    size_t given = 0;
    for (size_t i = 0; i < operands_.size(); ++i) {
      // Attributes tell which of the optional ones are there: those behind a missing one move up.
      if (operands_[i])
        first[given++] = to_array(i);
      else if (i < required)
        fail(ErrorKind::kType, "{}: argument '{}' is missing; give an array", name(), input_name(i));
    }
    std::span<const NDArray> arrays(first, given);
    if (const FieldInfo* field = op_.variadic ? op_.schema->find("num_args") : nullptr)
      field->set(writable(), static_cast<int64_t>(arrays.size()), *field, name());
    check_required();
    AttrsPtr attrs = attrs_ ? AttrsPtr(attrs_.get()) : op_.default_attrs;
    size_t count = output_count(op_, *attrs);
    if (count == 1) {
      NDArray result;
      PyObject* const target = single_out();
      if (target) result = output_of(target);
      invoke(op_, attrs, arrays, {&result, 1});
      if (f_.copies && !target) take_own_memory(result, arrays);
      return finish(std::move(result), f_.np, target);
    }
    return run_many(attrs, arrays, count);
  }

 private:
  static std::string text_of(PyObject* value) {
    const Ref text(checked(PyObject_Str(value)));
    return utf8(text.get());
  }

  void* writable() {
    if (!attrs_) attrs_ = op_.make_attrs();
    return attrs_->mutable_data();
  }

  void check_required() const {
    for (const FieldInfo& field : op_.schema->fields)
      if (field.required && !((given_ >> (&field - op_.schema->fields.data())) & 1u))
        fail(ErrorKind::kType, "{}: argument '{}' is required: {}", name(), field.name, field.doc);
  }

  NDArray to_array(size_t i) {
    PyObject* object = operands_[i];
    if (is_array(object)) {
      check(!array_of(object) || is_np(object) == f_.np, ErrorKind::kType,
            "{}: argument '{}' is an {} array, but {} functions take {} arrays; convert it with {}", name(),
            input_name(i), f_.np ? "nd" : "np", f_.np ? "np and npx" : "nd", f_.np ? "np" : "nd",
            f_.np ? "as_np_ndarray()"
                  : "as_nd_ndarray(), or, where a layer or loss says this, call npx.set_np() when the program begins");
      return array_of(object);
    }
    check(f_.np, ErrorKind::kType, "{}: argument '{}' must be an NDArray, got {}", name(), input_name(i),
          Py_TYPE(object)->tp_name);
    if (std::optional<Number> number = as_number(object)) return full({}, number->value, number_dtype(), device());
    NDArray array = beside(from_object(object, std::nullopt), device());
    // Python numbers have no dtype of their own: lists of them are float32, as np.array makes them.
    bool host_array = PyObject_HasAttrString(object, "__array_interface__");
    return host_array ? array : cast_to(array, DType::kFloat32);
  }

  // A bare number takes the dtype of the arrays beside it.
  DType number_dtype() const {
    const NDArray* const neighbour = first_array();
    return neighbour ? neighbour->dtype() : DType::kFloat32;
  }

  // What `out` is, or the one array that it lists; null: it is not given.
  PyObject* single_out() const {
    if (out_ && (PyTuple_Check(out_) || PyList_Check(out_)) && PySequence_Size(out_) == 1)
      return PySequence_Fast_GET_ITEM(out_, 0);
    return out_;
  }

  // Where values that are no arrays go: to the arrays beside them, to `out`, or where this thread makes arrays.
  Device device() const {
    if (const NDArray* const neighbour = first_array()) return neighbour->device();
    PyObject* const target = single_out();
    if (target && is_array(target)) return array_of(target).device();
    return thread_state().device;
  }

  // Of the inputs; null: there is none.
  const NDArray* first_array() const {
    for (PyObject* input : operands_)
      if (input && is_array(input)) return &array_of(input);
    return nullptr;
  }

  const NDArray& output_of(PyObject* target) const {
    check(is_array(target), ErrorKind::kType, "{}: out must be an array, got {}", name(), Py_TYPE(target)->tp_name);
    check(is_np(target) == f_.np, ErrorKind::kType, "{}: out must be an {} array like the inputs", name(),
          f_.np ? "np" : "nd");
    return array_of(target);
  }

  PyObject* run_with_number() {
    PyObject* a = operands_[0];
    PyObject* b = operands_[1];
    if (out_) output_of(out_);
    Ref result(checked(call_binary(f_.forms, a, b, out_)));
    if (result.get() == Py_NotImplemented)
      fail(ErrorKind::kType, "{}: operands must be arrays or numbers, got {} and {}", name(), Py_TYPE(a)->tp_name,
           Py_TYPE(b)->tp_name);
    return result.release();
  }

  PyObject* run_many(const AttrsPtr& attrs, std::span<const NDArray> arrays, size_t count) {
    std::vector<NDArray> results(count);
    Ref targets;
    if (out_) {
      targets = Ref(checked(PySequence_Fast(out_, "out must be a list of arrays")));
      size_t given = static_cast<size_t>(PySequence_Fast_GET_SIZE(targets.get()));
      check(given <= count, ErrorKind::kValue, "{}: out has {} arrays, but there are {} results", name(), given, count);
      for (size_t i = 0; i < given; ++i)
        results[i] = output_of(PySequence_Fast_GET_ITEM(targets.get(), static_cast<Py_ssize_t>(i)));
    }
    invoke(op_, attrs, arrays, results);
    if (f_.copies && !out_)
      for (NDArray& result : results) take_own_memory(result, arrays);
    size_t shown = op_.visible_outputs ? op_.visible_outputs : count;
    auto object = [&](size_t i) {
      PyObject* target = targets && static_cast<Py_ssize_t>(i) < PySequence_Fast_GET_SIZE(targets.get())
                             ? PySequence_Fast_GET_ITEM(targets.get(), static_cast<Py_ssize_t>(i))
                             : nullptr;
      return checked(finish(std::move(results[i]), f_.np, target));
    };
    if (shown == 1) return object(0);
    Ref list(checked(PyList_New(static_cast<Py_ssize_t>(shown))));
    for (size_t i = 0; i < shown; ++i) PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), object(i));
    return list.release();
  }

  IntrusivePtr<Attrs> attrs_;
  uint64_t given_ = 0;
};

}  // namespace

PyObject* call_on_arrays(const OpFunction& function, PyObject* const* arguments, size_t count, PyObject* keywords) {
  ArrayCall call(function);
  call.take(arguments, count, keywords);
  return call.run();
}

}  // namespace headrace::python
