#include "ufunc_keywords.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "array.h"
#include "base/check.h"
#include "convert.h"

namespace headrace::python {
namespace {

std::string_view text_or_nothing(PyObject* value) {
  return PyUnicode_Check(value) ? std::string_view(utf8(value)) : std::string_view();
}

bool is_true(PyObject* value) { return value == Py_True; }
bool is_keep(PyObject* value) { return text_or_nothing(value) == "K"; }
bool is_none(PyObject* value) { return value == Py_None; }
bool is_same_kind(PyObject* value) { return text_or_nothing(value) == "same_kind"; }

bool is_anything(PyObject*) { return true; }
bool is_text(PyObject* value) { return PyUnicode_Check(value); }
bool is_bool(PyObject* value) { return PyBool_Check(value); }
bool is_casting(PyObject* value) {
  constexpr std::array<std::string_view, 5> kRules = {"no", "equiv", "safe", "same_kind", "unsafe"};
  return std::ranges::find(kRules, text_or_nothing(value)) != kRules.end();
}
bool is_dtype(PyObject* value) {
  try {
    to_dtype(value);
    return true;
  } catch (const Error&) {
    return false;
  }
}

struct Keyword {
  std::string_view name;
  bool (*is_default)(PyObject*);
  bool (*is_legal)(PyObject*);
};

constexpr std::array<Keyword, 5> kKeywords = {{{"where", is_true, is_anything},
                                               {"casting", is_same_kind, is_casting},
                                               {"order", is_keep, is_text},
                                               {"dtype", is_none, is_dtype},
                                               {"subok", is_true, is_bool}}};

bool is_ufunc(const OpDef& op) { return !op.variadic && !op.open && !op.inputs.empty() && op.schema->fields.empty(); }

}  // namespace

bool is_ufunc_default(const OpDef& op, const char* name, PyObject* key, PyObject* value) {
  if (!is_ufunc(op)) return false;
  const std::string_view text = utf8(key);
  const auto* found = std::ranges::find(kKeywords, text, &Keyword::name);
  if (found == kKeywords.end()) return false;
  if (found->is_default(value)) return true;
  const Ref shown(checked(PyObject_Repr(value)));
  check(!found->is_legal(value), ErrorKind::kNotImplemented, "{}: {}={} is not there; leave the keyword away", name,
        text, utf8(shown.get()));
  fail(ErrorKind::kType, "{}: {}={} is not understood; leave the keyword away", name, text, utf8(shown.get()));
}

}  // namespace headrace::python
