#include "op_call.h"

#include <structmember.h>

#include "array.h"
#include "base/check.h"
#include "convert.h"
#include "op/catalogue.h"
#include "op/invoke.h"

namespace headrace::python {
namespace {

struct OpFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  const OpDef* op;
  PairForms forms;  // of an operator on two arrays for which a number may stand in
  bool np;
  PyObject* name;
  PyObject* of_numbers;  // what takes a call with numbers alone; may be null
  PyObject* dict;
  std::vector<PyObject*>* input_names;  // interned
  std::vector<PyObject*>* field_names;
};

PyTypeObject* op_function_type = nullptr;
PyObject* word_out = nullptr;
PyObject* word_name = nullptr;

std::span<const FieldInfo> arguments_of(const OpDef& op) {
  return std::span(op.schema->fields).first(op.schema->argument_count());
}

// One call being put together.
class Call {
 public:
  Call(const OpFunction& function) : f_(function), op_(*function.op) {
    if (!op_.variadic) inputs_.resize(op_.inputs.size(), nullptr);
  }

  void positional(PyObject* const* arguments, size_t count) {
    size_t used = 0;
    if (op_.variadic) {
      used = variadic(arguments, count);
    } else {
      for (; used < count && used < inputs_.size(); ++used) {
        // An optional array (a bias) may be left out and the attributes follow at once.
        bool optional = used >= inputs_.size() - op_.optional_inputs;
        if (optional && !is_array(arguments[used]) && arguments[used] != Py_None) break;
        if (arguments[used] != Py_None) inputs_[used] = arguments[used];
      }
    }
    const size_t fields = f_.field_names->size();
    for (size_t field = 0; used < count; ++used, ++field) {
      if (field == fields)
        fail(ErrorKind::kType, "{}: at most {} positional arguments are taken, got {}", name(), inputs_.size() + fields,
             count);
      set_field(op_.schema->fields[field], arguments[used]);
    }
  }

  void keyword(PyObject* key, PyObject* value) {
    for (size_t i = 0; i < f_.field_names->size(); ++i)
      if ((*f_.field_names)[i] == key) return set_field(op_.schema->fields[i], value);
    for (size_t i = 0; i < f_.input_names->size(); ++i)
      if ((*f_.input_names)[i] == key) return set_input(i, value);
    if (key == word_out) {
      if (value != Py_None) out_ = value;
      return;
    }
    if (key == word_name) return;
    slow_keyword(key, value);
  }

  PyObject* run() {
    if (f_.forms.both && inputs_.size() == 2 && inputs_[0] && inputs_[1] &&
        (!is_array(inputs_[0]) || !is_array(inputs_[1])))
      if (is_array(inputs_[0]) || is_array(inputs_[1])) return run_with_number();
    constexpr size_t kFew = 4;
    NDArray few[kFew];
    std::vector<NDArray> many(inputs_.size() > kFew ? inputs_.size() : 0);
    NDArray* first = many.empty() ? few : many.data();
    size_t given = 0;
    for (; given < inputs_.size() && inputs_[given]; ++given) first[given] = to_array(given);
    if (given < inputs_.size() && (op_.variadic || given < inputs_.size() - op_.optional_inputs))
      fail(ErrorKind::kType, "{}: argument '{}' is missing; give an array", name(), input_name(given));
    std::span<const NDArray> arrays(first, given);
    if (const FieldInfo* field = op_.variadic ? op_.schema->find("num_args") : nullptr)
      field->set(writable(), static_cast<int64_t>(arrays.size()), *field, name());
    if (!attrs_) check_required();
    AttrsPtr attrs = attrs_ ? AttrsPtr(attrs_.get()) : op_.default_attrs;
    if (attrs_) check_required();
    size_t count = output_count(op_, *attrs);
    if (count == 1) {
      NDArray result;
      PyObject* target = out_;
      if (target && (PyTuple_Check(target) || PyList_Check(target)) && PySequence_Size(target) == 1)
        target = PySequence_Fast_GET_ITEM(target, 0);
      if (target) result = output_of(target);
      invoke(op_, attrs, arrays, {&result, 1});
      return finish(std::move(result), f_.np, target);
    }
    return run_many(attrs, arrays, count);
  }

 private:
  const char* name() const { return op_.name.c_str(); }

  const std::string& input_name(size_t i) const {
    const auto& names = f_.np && !op_.np_inputs.empty() ? op_.np_inputs : op_.inputs;
    return names[std::min(i, names.size() - 1)];
  }

  // Takes the arrays of a variadic call; gives how many positional arguments they were.
  size_t variadic(PyObject* const* arguments, size_t count) {
    if (count > 0 && (PyList_Check(arguments[0]) || PyTuple_Check(arguments[0]))) {
      take_sequence(arguments[0]);
      return 1;
    }
    size_t used = 0;
    if (op_.list_input && count > 0) {
      take_sequence(arguments[0]);
      return 1;
    }
    for (; used < count && is_array(arguments[used]); ++used) inputs_.push_back(arguments[used]);
    return used;
  }

  void take_sequence(PyObject* sequence) {
    held_.emplace_back(checked(PySequence_Fast(sequence, "a sequence of arrays is needed")));
    PyObject* items = held_.back().get();
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i)
      inputs_.push_back(PySequence_Fast_GET_ITEM(items, i));
  }

  void set_input(size_t i, PyObject* value) {
    if (op_.variadic) {
      take_sequence(value);
      return;
    }
    check(inputs_[i] == nullptr, ErrorKind::kType, "{}: argument '{}' is given twice", name(), input_name(i));
    if (value != Py_None) inputs_[i] = value;
  }

  void set_field(const FieldInfo& field, PyObject* value) {
    given_ |= uint64_t{1} << (&field - op_.schema->fields.data());
    // None means "not given" where None is no value of the field.
    if (value == Py_None && !field.nullable && field.kind != FieldKind::kOptionalInts) return;
    field.set(writable(), to_attr_value(value, field, name()), field, name());
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

  // A keyword that is not interned, or unknown.
  void slow_keyword(PyObject* key, PyObject* value) {
    const char* text = PyUnicode_AsUTF8(key);
    if (const FieldInfo* field = op_.schema->find(text); field && !field->of_files) return set_field(*field, value);
    for (size_t i = 0; i < f_.input_names->size(); ++i)
      if (PyUnicode_Compare((*f_.input_names)[i], key) == 0) return set_input(i, value);
    for (size_t i = 0; i < op_.inputs.size(); ++i)
      if (op_.inputs[i] == text) return set_input(i, value);
    if (std::string_view(text) == "out") {
      if (value != Py_None) out_ = value;
      return;
    }
    if (std::string_view(text) == "name" || (std::string_view(text) == "ctx" && value == Py_None)) return;
    std::string known;
    for (PyObject* one : *f_.input_names) known += std::string(PyUnicode_AsUTF8(one)) + ", ";
    for (PyObject* one : *f_.field_names) known += std::string(PyUnicode_AsUTF8(one)) + ", ";
    fail(ErrorKind::kType, "{}: unexpected keyword argument '{}'; the arguments are {}out, name", name(), text, known);
  }

  NDArray to_array(size_t i) {
    PyObject* object = inputs_[i];
    if (is_array(object)) {
      check(!array_of(object) || is_np(object) == f_.np, ErrorKind::kType,
            "{}: argument '{}' is an {} array, but {} functions take {} arrays; convert it with {}", name(),
            input_name(i), f_.np ? "nd" : "np", f_.np ? "np and npx" : "nd", f_.np ? "np" : "nd",
            f_.np ? "as_np_ndarray()" : "as_nd_ndarray()");
      return array_of(object);
    }
    check(f_.np, ErrorKind::kType, "{}: argument '{}' must be an NDArray, got {}", name(), input_name(i),
          Py_TYPE(object)->tp_name);
    const NDArray* const neighbour = first_array();
    const Device device = neighbour ? neighbour->device() : Device{};
    if (std::optional<Number> number = as_number(object)) return full({}, number->value, number_dtype(), device);
    NDArray array = from_object(object, std::nullopt);
    if (neighbour) array = beside(std::move(array), *neighbour);
    // Python numbers have no dtype of their own: lists of them are float32, as np.array makes them.
    bool host_array = PyObject_HasAttrString(object, "__array_interface__");
    return host_array ? array : cast_to(array, DType::kFloat32);
  }

  // A bare number takes the dtype of the arrays beside it.
  DType number_dtype() const {
    const NDArray* const neighbour = first_array();
    return neighbour ? neighbour->dtype() : DType::kFloat32;
  }

  // Of the inputs; null: there is none.
  const NDArray* first_array() const {
    for (PyObject* input : inputs_)
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
    PyObject* a = inputs_[0];
    PyObject* b = inputs_[1];
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

  const OpFunction& f_;
  const OpDef& op_;
  SmallVector<PyObject*, 8> inputs_;  // borrowed
  std::vector<Ref> held_;
  IntrusivePtr<Attrs> attrs_;
  uint64_t given_ = 0;
  PyObject* out_ = nullptr;
};

// Whether a call has positional arguments, all of them numbers, and no `out`.
bool is_of_numbers(PyObject* const* arguments, size_t count, PyObject* keywords) {
  if (count == 0) return false;
  for (size_t i = 0; i < count; ++i)
    if (is_array(arguments[i]) || !as_number(arguments[i])) return false;
  for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i)
    if (PyTuple_GET_ITEM(keywords, i) == word_out && arguments[count + static_cast<size_t>(i)] != Py_None) return false;
  return true;
}

PyObject* op_function_call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* keywords) {
  return guarded([&] {
    const OpFunction& function = *reinterpret_cast<OpFunction*>(self);
    const size_t count = static_cast<size_t>(PyVectorcall_NARGS(flags));
    if (function.of_numbers && is_of_numbers(arguments, count, keywords))
      return PyObject_Vectorcall(function.of_numbers, arguments, count, keywords);
    Call call(function);
    call.positional(arguments, count);
    if (keywords)
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); ++i)
        call.keyword(PyTuple_GET_ITEM(keywords, i), arguments[count + static_cast<size_t>(i)]);
    return call.run();
  });
}

PyObject* op_function_bind(PyObject* self, PyObject* object, PyObject*) {
  if (!object || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

PyObject* op_function_repr(PyObject* self) {
  return PyUnicode_FromFormat("<operator %U>", reinterpret_cast<OpFunction*>(self)->name);
}

// Parameters with their defaults, as Python writes them: "(data, axis=None, keepdims=False, out=None, name=None)".
std::string signature_text(const OpFunction& f) {
  const OpDef& op = *f.op;
  const auto& names = f.np && !op.np_inputs.empty() ? op.np_inputs : op.inputs;
  std::string text = "(";
  bool starred = op.variadic && !op.list_input;
  for (size_t i = 0; i < names.size(); ++i) {
    bool optional = i >= names.size() - op.optional_inputs;
    text +=
        std::string(starred && i + 1 == names.size() ? "*" : "") + names[i] + (optional && !starred ? "=None, " : ", ");
  }
  IntrusivePtr<Attrs> defaults = op.make_attrs();
  bool needs_default = op.optional_inputs > 0 && !starred;
  for (const FieldInfo& field : arguments_of(op)) {
    text += field.name;
    if (!field.required || needs_default) {
      needs_default |= !starred;
      AttrValue value = field.get(defaults->data());
      bool quoted = field.kind == FieldKind::kString || field.kind == FieldKind::kDType;
      bool none = std::holds_alternative<std::monostate>(value) || field.required;
      std::string shown = none ? "None" : attr_to_text(value);
      text += "=" + (quoted && !none ? "'" + shown + "'" : shown);
    }
    text += ", ";
  }
  return text + "out=None, name=None)";
}

PyObject* op_function_signature(PyObject* self, void*) {
  return guarded([&] {
    std::string text = signature_text(*reinterpret_cast<OpFunction*>(self));
    Ref module(checked(PyImport_ImportModule("headrace._signatures")));
    return PyObject_CallMethod(module.get(), "parse", "s", text.c_str());
  });
}

PyObject* op_function_doc(PyObject* self, void*) {
  return guarded([&] {
    const auto& f = *reinterpret_cast<OpFunction*>(self);
    std::string text = f.op->doc + "\n";
    const auto arguments = arguments_of(*f.op);
    if (!arguments.empty()) text += "\nParameters\n----------\n";
    for (const FieldInfo& field : arguments)
      text += fmt::format("{}{}\n    {}\n", field.name, field.choices ? fmt::format(" : {}", field.choices) : "",
                          field.doc);
    return PyUnicode_FromString(text.c_str());
  });
}

PyObject* op_function_op_name(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<OpFunction*>(self)->op->name.c_str());
}

void op_function_dealloc(PyObject* self) {
  auto* function = reinterpret_cast<OpFunction*>(self);
  for (PyObject* name : *function->input_names) Py_DECREF(name);
  for (PyObject* name : *function->field_names) Py_DECREF(name);
  delete function->input_names;
  delete function->field_names;
  Py_XDECREF(function->name);
  Py_XDECREF(function->of_numbers);
  Py_XDECREF(function->dict);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace

bool ready_op_function_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpFunction, vectorcall), READONLY, nullptr},
      {"__dictoffset__", T_PYSSIZET, offsetof(OpFunction, dict), READONLY, nullptr},
      {"__name__", T_OBJECT, offsetof(OpFunction, name), READONLY, nullptr},
      {"of_numbers", T_OBJECT, offsetof(OpFunction, of_numbers), 0, "What takes a call with numbers alone, or None."},
      {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef properties[] = {
      {"op_name", op_function_op_name, nullptr, "Registered name of the operator.", nullptr},
      {"__signature__", op_function_signature, nullptr, nullptr, nullptr},
      {"__doc__", op_function_doc, nullptr, nullptr, nullptr},
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(op_function_dealloc)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(op_function_bind)},
                                {Py_tp_repr, reinterpret_cast<void*>(op_function_repr)},
                                {Py_tp_members, members},
                                {Py_tp_getset, properties},
                                {0, nullptr}};
  static PyType_Spec spec = {"headrace._core.OpFunction", sizeof(OpFunction), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
  op_function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  word_out = PyUnicode_InternFromString("out");
  word_name = PyUnicode_InternFromString("name");
  return op_function_type != nullptr;
}

PyObject* make_op_function(const OpDef& op, const char* name, bool np) {
  auto* function = reinterpret_cast<OpFunction*>(checked(op_function_type->tp_alloc(op_function_type, 0)));
  function->vectorcall = op_function_call;
  function->op = &op;
  if (!op.scalar_forms.right.empty())
    function->forms = {&op, catalogue().find(op.scalar_forms.right), catalogue().find(op.scalar_forms.left), np};
  function->np = np;
  function->name = PyUnicode_InternFromString(name);
  function->input_names = new std::vector<PyObject*>;
  function->field_names = new std::vector<PyObject*>;
  for (const std::string& input : np && !op.np_inputs.empty() ? op.np_inputs : op.inputs)
    function->input_names->push_back(PyUnicode_InternFromString(input.c_str()));
  for (const FieldInfo& field : arguments_of(op))
    function->field_names->push_back(PyUnicode_InternFromString(field.name));
  return reinterpret_cast<PyObject*>(function);
}

}  // namespace headrace::python
