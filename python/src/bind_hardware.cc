// headrace._core.hardware: measurements of the machine.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "gil.h"
#include "headrace/hardware.hpp"

namespace nb = nanobind;

namespace headrace::python {
namespace {

using namespace hardware;

nb::list book_list(std::span<const BookFigure> figures) {
  nb::list list;
  for (const BookFigure& figure : figures) {
    nb::dict row;
    row["action"] = python_text(figure.action);
    row["seconds"] = figure.seconds;
    row["table"] = "12.4." + std::to_string(figure.table);
    list.append(row);
  }
  return list;
}

nb::list description_list() {
  nb::list list;
  for (const Description& description : descriptions()) {
    nb::dict row;
    row["name"] = python_text(description.name);
    row["subject"] = python_text(description.subject);
    row["what"] = python_text(description.what);
    row["unit"] = python_text(unit_name(description.unit));
    row["book"] = book_list(description.book);
    list.append(row);
  }
  return list;
}

nb::list selected(const std::vector<std::string>& names) {
  nb::list list;
  for (std::string_view name : hardware::select(names)) list.append(python_text(name));
  return list;
}

// A measurement that Python made, with the name and the unit of its description.
Measurement measured(const std::string& name, double value, const std::string& note) {
  const Description& description = description_of(name);
  return {description.name, value, description.unit, note, {}};
}

}  // namespace

void bind_hardware(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("hardware", "Measurements of this machine. Use headrace.hardware.");
  nb::class_<Measurement>(m, "Measurement",
                          "What was measured. `value` is None when there is none, and `why_not` says why.")
      .def_prop_ro("name", [](const Measurement& x) { return python_text(x.name); })
      .def_prop_ro(
          "value",
          [](const Measurement& x) { return x.measured() ? nb::object(nb::float_(x.value)) : nb::object(nb::none()); })
      .def_prop_ro("unit", [](const Measurement& x) { return python_text(unit_name(x.unit)); })
      .def_ro("note", &Measurement::note)
      .def_ro("why_not", &Measurement::why_not)
      .def("__repr__", [](const Measurement& x) {
        const std::string value = x.measured() ? value_text(x.value, x.unit) : "not measured: " + x.why_not;
        return "<Measurement " + std::string(x.name) + ": " + value + ">";
      });
  nb::class_<Session>(m, "Session", "One run of measurements, which share what is dear to make.")
      .def(
          "__init__",
          [](Session* self, const std::string& directory, bool quick) {
            new (self) Session({directory, quick});
          },
          nb::arg("directory") = "", nb::arg("quick") = false)
      .def(
          "measure",
          [](Session& session, const std::string& name) {
            return translated([&] {
              const WithoutGil unlocked;
              return session.measure(name);
            });
          },
          nb::arg("name"), "Measures one thing. Raises ValueError for a name that descriptions() does not have.")
      .def_prop_ro("latency_curve", [](const Session& session) {
        nb::list list;
        for (const LatencyPoint& point : session.latency_curve())
          list.append(nb::make_tuple(point.bytes, point.seconds));
        return list;
      });
  m.def(
      "book", [] { return book_list(book()); }, "The book's figures: dicts of action, seconds and table.");
  m.def("descriptions", &description_list, "What can be measured: dicts of name, subject, what, unit and book.");
  m.def("select", [](const std::vector<std::string>& names) { return translated([&] { return selected(names); }); });
  m.def("measured", [](const std::string& name, double value, const std::string& note) {
    return translated([&] { return measured(name, value, note); });
  });
  m.def(
      "table", [](const std::vector<Measurement>& measurements) { return table(measurements); },
      nb::arg("measurements"), "The measurements beside the book's figures, as lines of text.");
  m.def("value_text", [](double value, const std::string& unit) {
    for (Unit each : {Unit::kSeconds, Unit::kBytes, Unit::kBytesPerSecond, Unit::kOperationsPerSecond})
      if (unit == unit_name(each)) return value_text(value, each);
    throw nb::value_error("hardware: unknown unit");
  });
}

}  // namespace headrace::python
