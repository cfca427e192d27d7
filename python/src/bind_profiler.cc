// The profiler as headrace.profiler sees it, which adds MXNet's keywords and checks.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <optional>

#include "bindings.h"
#include "gil.h"
#include "headrace/profiler.hpp"

namespace nb = nanobind;

namespace headrace::python {
namespace {

using namespace headrace::profiler;
using NameView = std::string_view;

void bind_session(nb::module_& m) {
  m.def("profiler_set_config", [](bool all, bool symbolic, bool imperative, bool memory, bool api, std::string filename,
                                  bool continuous_dump, double dump_period) {
    translated([&] {
      set_config({all, symbolic, imperative, memory, api, std::move(filename), continuous_dump, dump_period});
      return 0;
    });
  });
  m.def("profiler_start", [] { outside_python([] { return start(), 0; }); });
  m.def("profiler_stop", [] { outside_python([] { return stop(), 0; }); });
  m.def("profiler_pause", [] { outside_python([] { return pause(), 0; }); });
  m.def("profiler_resume", [] { outside_python([] { return resume(), 0; }); });
  m.def("profiler_is_recording", [] { return is_recording(); });
  m.def("profiler_dump", [](bool finished) { outside_python([&] { return dump(finished), 0; }); });
  m.def("profiler_dumps", [](bool reset, int format, int sort_by, bool ascending) {
    return outside_python([&] {
      return dumps({reset, static_cast<Format>(format), static_cast<SortBy>(sort_by), ascending});
    });
  });
}

// What Task, Frame and Event share.
template <class T, class... Arguments>
nb::class_<T> bind_duration(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<T>(m, name, doc)
      .def("start", &T::start, "Begins the time; a second start begins anew.")
      .def("stop", &T::stop, "Ends the time. Without a start nothing is recorded.")
      .def_prop_ro("name", &T::name)
      .def("__str__", &T::name);
}

void bind_counter(nb::module_& m) {
  // `counter += 1` must keep the object that it had.
  const auto changed_by = [](nb::handle_t<Counter> self, int64_t delta) {
    nb::cast<Counter&>(self).increment(delta);
    return nb::borrow(self);
  };
  nb::class_<Counter>(m, "Counter", "A value over time, kept also while nothing is recorded.")
      .def(nb::init<const Domain&, NameView, std::optional<int64_t>>(), nb::arg("domain"), nb::arg("name"),
           nb::arg("value") = nb::none())
      .def(
          "set_value", [](Counter& counter, double value) { counter.set_value(static_cast<int64_t>(value)); },
          nb::arg("value"), "Sets the value, cut to an integer.")
      .def(
          "increment", [](Counter& counter, double delta) { counter.increment(static_cast<int64_t>(delta)); },
          nb::arg("delta") = 1)
      .def(
          "decrement", [](Counter& counter, double delta) { counter.decrement(static_cast<int64_t>(delta)); },
          nb::arg("delta") = 1)
      .def_prop_ro("value", &Counter::value)
      .def("__iadd__", [changed_by](nb::handle_t<Counter> self, int64_t delta) { return changed_by(self, delta); })
      .def("__isub__", [changed_by](nb::handle_t<Counter> self, int64_t delta) { return changed_by(self, -delta); })
      .def_prop_ro("name", &Counter::name)
      .def("__str__", &Counter::name);
}

void bind_annotations(nb::module_& m) {
  bind_duration<profiler::Task>(
      m, "Task", "Logical work of a domain, from start() to stop(); it may begin in one thread and end in another.")
      .def(nb::init<const Domain&, NameView>(), nb::arg("domain"), nb::arg("name"));
  bind_duration<profiler::Frame>(m, "Frame", "One pass of something repeated, from start() to stop().")
      .def(nb::init<const Domain&, NameView>(), nb::arg("domain"), nb::arg("name"));
  bind_duration<profiler::Event>(m, "Event", "What the calling thread does from start() to stop(), drawn in its lane.")
      .def(nb::init<NameView>(), nb::arg("name"));
  bind_counter(m);
  nb::class_<Marker>(m, "Marker", "A moment.")
      .def(nb::init<const Domain&, NameView>(), nb::arg("domain"), nb::arg("name"))
      .def(
          "mark", [](const Marker& marker, NameView scope) { translated([&] { return marker.mark(scope), 0; }); },
          nb::arg("scope") = "process",
          "Marks now. The scope says what it concerns: 'global', 'process', 'thread', 'task' or 'marker'; another "
          "one raises ValueError.")
      .def_prop_ro("name", &Marker::name);
  nb::class_<Domain>(m, "Domain", "Groups tasks, frames, counters and markers; the category of their records.")
      .def(nb::init<NameView>(), nb::arg("name"))
      .def("new_task", &Domain::new_task, nb::arg("name"), "A Task of this domain.")
      .def("new_frame", &Domain::new_frame, nb::arg("name"), "A Frame of this domain.")
      .def("new_counter", &Domain::new_counter, nb::arg("name"), nb::arg("value") = nb::none(),
           "A Counter of this domain.")
      .def("new_marker", &Domain::new_marker, nb::arg("name"), "A Marker of this domain.")
      .def_prop_ro("name", &Domain::name)
      .def("__str__", &Domain::name);
}

// A with block: the C++ scope lives from __enter__ to __exit__.
struct ScopeBlock {
  std::string name;
  bool append;
  std::optional<Scope> scope;
};

void bind_scope(nb::module_& m) {
  nb::class_<ScopeBlock>(m, "ProfilerScope")
      .def("__init__",
           [](ScopeBlock* self, std::string name, bool append) {
             new (self) ScopeBlock{std::move(name), append, std::nullopt};
           })
      .def("__enter__", [](ScopeBlock& self) { return self.scope.emplace(self.name, self.append).name(); })
      .def("__exit__", [](ScopeBlock& self, nb::args) { self.scope.reset(); });
}

}  // namespace

void bind_profiler(nb::module_& m) {
  bind_session(m);
  bind_annotations(m);
  bind_scope(m);
}

}  // namespace headrace::python
