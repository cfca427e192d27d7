// Steps of optimizers: updates of all parameters at once, and whole steps that are the one before them again.

#include <algorithm>
#include <array>

#include "base/check.h"
#include "bindings.h"
#include "convert.h"
#include "engine/runtime.h"
#include "ndarray/view.h"
#include "op/invoke.h"
#include "op/pointwise.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

bool equal(nb::handle a, nb::handle b) {
  const int is_equal = PyObject_RichCompareBool(a.ptr(), b.ptr(), Py_EQ);
  if (is_equal < 0) throw nb::python_error();
  return is_equal == 1;
}

// Null: the dictionary has no such name.
nb::handle value_in(const nb::dict& dict, nb::handle name) {
  const nb::handle value = PyDict_GetItemWithError(dict.ptr(), name.ptr());
  if (!value && PyErr_Occurred()) throw nb::python_error();
  return value;
}

// An update operator with the arrays that it is called with. What a step has in common with the one before it is kept.
class UpdateMany {
 public:
  // `tensors`: a list of tuples (weight, gradient, *states), which stays as it is.
  UpdateMany(const std::string& name, nb::list tensors)
      : op_(find_op(name)),
        lr_(op_.schema->find("lr")),
        wd_(op_.schema->find("wd")),
        tensors_(std::move(tensors)),
        views_(nb::len(tensors_)) {
    check(lr_ && wd_, ErrorKind::kValue, "{}: not an update operator", name);
  }

  // For Python's collector of cycles.
  int visit(visitproc visit, void* arg) const {
    for (nb::handle held : {nb::handle(tensors_), nb::handle(lrs_), nb::handle(wds_), nb::handle(attrs_)})
      Py_VISIT(held.ptr());
    return 0;
  }
  void clear() {
    plan_ = nullptr;
    views_.clear();
    tensors_ = nb::list();
    lrs_.reset(), wds_.reset(), attrs_.reset();
  }

  nb::tuple arguments() const { return nb::make_tuple(nb::str(op_.name.c_str()), tensors_); }

  // Whether the last call was the one before it again.
  bool is_repeated() const { return is_repeated_; }
  // Whether the last call can be repeated: there is a plan for it, and its arrays are what they were.
  bool can_repeat() {
    if (!take_arrays()) plan_ = nullptr;
    return plan_ != nullptr;
  }
  // Does what the last call did; can_repeat() has said that this can be done.
  void repeat() const { issue_updates(plan_); }

  // One learning rate and weight decay for each tuple; `attrs` for all.
  void operator()(nb::handle lrs, nb::handle wds, nb::handle attrs) {
    is_repeated_ = can_repeat() && equal(lrs, lrs_) && equal(wds, wds_) && equal(attrs, attrs_);
    if (!is_repeated_) {
      plan_ = nullptr;
      const std::vector<UpdateCall> calls = calls_for(lrs, wds, attrs);
      plan_ = plan_updates(op_, calls);
      if (!plan_) return update_many(op_, calls);
      // Copies: the caller may change the lists.
      lrs_ = copy_of(lrs), wds_ = copy_of(wds), attrs_ = nb::borrow(attrs);
    }
    issue_updates(plan_);
  }

 private:
  static nb::object copy_of(nb::handle sequence) {
    nb::object copy = nb::steal(PySequence_List(sequence.ptr()));
    if (!copy) throw nb::python_error();
    return copy;
  }

  // Whether all arrays are those of the step before.
  bool take_arrays() {
    bool same = true;
    size_t i = 0;
    for (nb::handle tuple : tensors_) {
      std::vector<const View*>& views = views_[i++];
      size_t k = 0;
      for (nb::handle tensor : tuple) {
        const View* view = array_from(tensor).view().get();
        if (k == views.size()) views.push_back(nullptr);
        same = same && views[k] == view;
        views[k++] = view;
      }
    }
    return same;
  }

  std::vector<UpdateCall> calls_for(nb::handle lrs, nb::handle wds, nb::handle attrs) const {
    std::vector<UpdateCall> calls;
    AttrsPtr shared;  // parameters with the rates of the one before use its attributes too
    nb::object last_lr, last_wd;
    for (size_t i = 0; i < views_.size(); ++i) {
      nb::object lr = lrs[i], wd = wds[i];
      if (!shared || !lr.equal(last_lr) || !wd.equal(last_wd)) {
        const char* const name = op_.name.c_str();
        shared = attrs_from(op_, attrs.ptr());
        void* const own = const_cast<Attrs*>(shared.get())->mutable_data();
        lr_->set(own, to_attr_value(lr.ptr(), *lr_, name), *lr_, name);
        wd_->set(own, to_attr_value(wd.ptr(), *wd_, name), *wd_, name);
        last_lr = std::move(lr), last_wd = std::move(wd);
      }
      calls.push_back({arrays_from(tensors_[i]), shared});
    }
    return calls;
  }

  const OpDef& op_;
  const FieldInfo *lr_, *wd_;
  nb::list tensors_;
  std::vector<std::vector<const View*>> views_;  // of the last call; the plan keeps them alive
  UpdatePlanPtr plan_;                           // for the arrays of views_ and:
  nb::object lrs_, wds_, attrs_;
  bool is_repeated_ = false;
};

// What a dictionary has under some names at one time; later it tells whether that is the same objects still, and that
// no name has come or gone.
class Snapshot {
 public:
  Snapshot(nb::dict dict, nb::handle names) : dict_(std::move(dict)), size_(dict_.size()) {
    for (nb::handle name : names) entries_.emplace_back(nb::borrow(name), nb::borrow(value_in(dict_, name)));
  }

  bool holds() const {
    return dict_.size() == size_ && std::ranges::all_of(entries_, [this](const auto& entry) {
             return value_in(dict_, entry.first).ptr() == entry.second.ptr();
           });
  }

  int visit(visitproc visit, void* arg) const {
    Py_VISIT(dict_.ptr());
    for (const auto& [name, value] : entries_) {
      Py_VISIT(name.ptr());
      Py_VISIT(value.ptr());
    }
    return 0;
  }

 private:
  nb::dict dict_;
  size_t size_;
  std::vector<std::pair<nb::object, nb::object>> entries_;
};

// Adds an update to the counts of parameters; the highest of these counts and `highest`.
nb::object count_updates(nb::dict counts, nb::handle indices, nb::handle before, nb::object highest) {
  static const nb::int_* const kOne = new nb::int_(1);  // never freed: Python may have ended when statics are
  for (nb::handle index : indices) {
    const nb::handle known = value_in(counts, index);
    nb::object count = (known ? known : before) + *kOne;
    if (PyDict_SetItem(counts.ptr(), index.ptr(), count.ptr()) < 0) throw nb::python_error();
    if (count > highest) highest = std::move(count);
  }
  return highest;
}

// A trainer's step that is repeated for as long as nothing changes that it depends on. It looks at that itself, so it
// may always be called.
class RepeatedStep {
 public:
  // The step depends on `watched`, pairs of a dictionary and the names in it that count, on the batch size, and on the
  // version of the parameters.
  RepeatedStep(nb::list updates, nb::object optimizer, nb::dict counts, nb::list indices, nb::list weights,
               nb::handle watched, nb::object batch_size, nb::object version)
      : updates_(std::move(updates)),
        optimizer_(std::move(optimizer)),
        counts_(std::move(counts)),
        indices_(std::move(indices)),
        weights_(std::move(weights)),
        batch_size_(std::move(batch_size)),
        version_(std::move(version)) {
    for (nb::handle pair : watched) watched_.emplace_back(nb::cast<nb::dict>(pair[0]), pair[1]);
  }

  // Whether it has done the step. False: something is not as it was, and nothing has been done.
  bool operator()(nb::handle batch_size, nb::handle version) {
    runtime().engine.raise_kept();
    if (!equal(batch_size, batch_size_) || !equal(version, version_) || !is_same() || !are_fresh(weights_))
      return false;
    count();
    for (nb::handle update : updates_) nb::cast<const UpdateMany&>(update).repeat();
    make_stale(weights_);
    return true;
  }

  int visit(visitproc visit, void* arg) const {
    for (const nb::object* held : held_objects()) Py_VISIT(held->ptr());
    for (const Snapshot& one : watched_)
      if (const int stop = one.visit(visit, arg)) return stop;
    return 0;
  }
  void clear() {
    watched_.clear();
    updates_ = indices_ = weights_ = nb::list();
    counts_ = nb::dict();
    optimizer_.reset();
  }

 private:
  std::array<const nb::object*, 5> held_objects() const {
    return {&updates_, &optimizer_, &counts_, &indices_, &weights_};
  }

  bool is_same() const {
    if (!std::ranges::all_of(watched_, &Snapshot::holds)) return false;
    for (nb::handle update : updates_)
      if (!nb::cast<UpdateMany&>(update).can_repeat()) return false;
    return true;
  }

  void count() {
    const nb::object before = optimizer_.attr("begin_num_update");
    optimizer_.attr("num_update") = count_updates(counts_, indices_, before, optimizer_.attr("num_update"));
  }

  nb::list updates_;
  nb::object optimizer_;
  nb::dict counts_;
  nb::list indices_, weights_;
  nb::object batch_size_, version_;
  std::vector<Snapshot> watched_;
};

}  // namespace

void bind_updates(nb::module_& m) {
  nb::class_<UpdateMany>(m, "UpdateMany", nb::type_slots(CollectorSlots<UpdateMany>::kAll))
      .def(
          "__init__",
          [](UpdateMany* self, nb::str name, nb::list tensors) {
            translated([&] {
              new (self) UpdateMany(name.c_str(), std::move(tensors));
              return 0;
            });
          },
          nb::arg("name"), nb::arg("tensors"))
      .def(
          "__call__",
          [](UpdateMany& self, nb::handle lrs, nb::handle wds, nb::dict attrs) {
            translated([&] {
              self(lrs, wds, attrs);
              return 0;
            });
          },
          nb::arg("lrs"), nb::arg("wds"), nb::arg("attrs"),
          "Applies the operator in place to all (weight, gradient, *states) in one engine task.")
      .def_prop_ro("is_repeated", &UpdateMany::is_repeated, "Whether the last call was the one before it again.")
      .def("__reduce__",
           [](nb::handle self) { return nb::make_tuple(self.type(), nb::cast<const UpdateMany&>(self).arguments()); });
  m.def("count_updates", &count_updates, nb::arg("counts"), nb::arg("indices"), nb::arg("before"), nb::arg("highest"),
        "Adds an update to the counts of parameters, which begin at `before`; the highest of them and `highest`.");
  nb::class_<RepeatedStep>(m, "RepeatedStep", nb::type_slots(CollectorSlots<RepeatedStep>::kAll))
      .def(nb::init<nb::list, nb::object, nb::dict, nb::list, nb::list, nb::handle, nb::object, nb::object>(),
           nb::arg("updates"), nb::arg("optimizer"), nb::arg("counts"), nb::arg("indices"), nb::arg("weights"),
           nb::arg("watched"), nb::arg("batch_size"), nb::arg("version"))
      .def(
          "__call__",
          [](RepeatedStep& self, nb::handle batch_size, nb::handle version) {
            return translated([&] { return self(batch_size, version); });
          },
          nb::arg("batch_size"), nb::arg("version"),
          "Whether the step has been done; False: something is not as it was, and nothing has been done.")
      .def("__reduce__", [](nb::handle) {  // a copy of a trainer finds out anew what repeats
        return nb::make_tuple(nb::none().type(), nb::make_tuple());
      });
}

}  // namespace headrace::python
