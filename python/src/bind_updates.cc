// Updates of many parameters in one task, as optimizers issue them step after step.

#include "base/check.h"
#include "bindings.h"
#include "convert.h"
#include "ndarray/view.h"
#include "op/invoke.h"
#include "op/pointwise.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

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

  // One learning rate and weight decay for each tuple; `attrs` for all.
  void operator()(nb::handle lrs, nb::handle wds, nb::handle attrs) {
    const bool same_arrays = take_arrays();
    if (!plan_ || !same_arrays || !equal(lrs, lrs_) || !equal(wds, wds_) || !equal(attrs, attrs_)) {
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
  static bool equal(nb::handle a, nb::handle b) {
    const int is_equal = PyObject_RichCompareBool(a.ptr(), b.ptr(), Py_EQ);
    if (is_equal < 0) throw nb::python_error();
    return is_equal == 1;
  }

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
      .def("__reduce__",
           [](nb::handle self) { return nb::make_tuple(self.type(), nb::cast<const UpdateMany&>(self).arguments()); });
}

}  // namespace headrace::python
