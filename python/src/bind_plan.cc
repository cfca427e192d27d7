// headrace._core.plan: topologies, communication plans, their simulation and the planner.

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <sstream>

#include "base/bytes.h"
#include "base/check.h"
#include "bindings.h"
#include "gil.h"
#include "kvstore/interpreter.h"
#include "kvstore/planner.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

using namespace kvstore;

using TopologyPtr = std::shared_ptr<Topology>;
using Names = std::vector<std::string>;

constexpr double kSecondsPerPicosecond = 1e-12;

std::vector<int> numbers_of(const Topology& topology, const Names& names) {
  std::vector<int> numbers;
  for (const std::string& name : names) numbers.push_back(topology.find_device(name));
  return numbers;
}

Names names_of(const Topology& topology, std::span<const int> vertices) {
  Names names;
  for (int vertex : vertices) names.push_back(topology.vertex_name(vertex));
  return names;
}

CollectiveRequest collective_request(const TopologyPtr& topology, size_t bytes, const std::optional<Names>& devices,
                                     const std::optional<std::string>& root, const Names& servers, int slices,
                                     const std::string& collective, size_t element_bytes) {
  CollectiveRequest request;
  request.topology = topology;
  request.devices = devices ? numbers_of(*topology, *devices) : default_devices(*topology);
  request.bytes = bytes;
  request.collective = parse_collective(collective);
  if (root) request.root = topology->find_device(*root);
  request.servers = numbers_of(*topology, servers);
  request.slices = slices;
  request.element_bytes = element_bytes;
  return request;
}

nb::tuple step_tuple(const CommunicationPlan& plan, const Step& step) {
  const Topology& topology = plan.topology();
  Names route;
  if (step.kind == StepKind::kCopy) route = names_of(topology, plan.routes()[step.route].vertices);
  return nb::make_tuple(step.kind == StepKind::kCopy ? "copy" : "reduce", topology.device_name(step.source.device),
                        topology.device_name(step.target.device), step.source.slot, step.target.slot, step.range.begin,
                        step.range.end, step.slice, step.after, route);
}

nb::dict prediction_dict(const Topology& topology, const Prediction& prediction) {
  nb::dict d;
  d["slices"] = prediction.slices;
  d["seconds"] = static_cast<double>(prediction.total_ps) * kSecondsPerPicosecond;
  d["steps"] = prediction.steps;
  d["scratch_bytes"] = prediction.scratch_bytes;
  d["busiest_link"] = prediction.busiest < 0 ? nb::object(nb::none())
                                             : nb::object(python_text(topology.resources()[prediction.busiest].name));
  d["busiest_share"] = prediction.busiest_share;
  return d;
}

nb::list comparison_list(const std::optional<std::string>& strategy, const CollectiveRequest& request) {
  std::vector<Comparison> rows;
  {
    const WithoutGil unlocked;
    rows = strategy ? std::vector{predict(find_strategy(*strategy), request)} : compare(request);
  }
  nb::list list;
  const Comparison* best = fastest(rows);
  for (const Comparison& row : rows) {
    nb::dict d;
    d["strategy"] = python_text(row.strategy->name);
    d["obstacle"] = row.possible() ? nb::object(nb::none()) : nb::object(python_text(row.obstacle));
    if (row.possible()) {
      d["whole"] = prediction_dict(*request.topology, row.whole);
      d["sliced"] = prediction_dict(*request.topology, row.sliced);
    }
    d["best"] = &row == best;
    list.append(d);
  }
  return list;
}

std::map<std::string, std::vector<float>> run_plan(const CommunicationPlan& plan,
                                                   const std::map<std::string, std::vector<float>>& values) {
  const Topology& topology = plan.topology();
  HostBuffers buffers(topology.device_count());
  for (const auto& [name, value] : values) buffers[topology.find_device(name)] = value;
  buffers = interpret(plan, std::move(buffers));
  std::map<std::string, std::vector<float>> result;
  for (int device = 0; device < topology.device_count(); ++device)
    if (!buffers[device].empty()) result[topology.device_name(device)] = std::move(buffers[device]);
  return result;
}

// A plan and the outcome of its simulation, which share their topology.
struct Run {
  CommunicationPlan plan;
  Simulation simulation;
};

void bind_topology(nb::module_& m) {
  nb::class_<Topology>(m, "Topology", "Devices, switches and links. Made by load() or Topology.from_json().")
      .def_static(
          "from_json",
          [](const std::string& json) {
            return translated([&] { return std::make_shared<Topology>(read_topology(json)); });
          },
          nb::arg("text"), "A topology from the text of a topology file. Raises ValueError saying what is wrong.")
      .def(
          "to_json", [](const Topology& t) { return write_topology(t.spec()); }, "The text of its topology file.")
      .def_prop_ro("name", &Topology::name, "The preset, or the name in the file.")
      .def_prop_ro(
          "devices",
          [](const Topology& t) {
            Names names;
            for (int i = 0; i < t.device_count(); ++i) names.push_back(t.device_name(i));
            return names;
          },
          "Names of the devices.")
      .def_prop_ro(
          "default_devices", [](const Topology& t) { return names_of(t, default_devices(t)); },
          "The devices of a plan that names none: the GPUs, or the CPUs where there is no GPU.")
      .def(
          "route",
          [](const Topology& t, const std::string& from, const std::string& to) {
            return translated([&] { return names_of(t, t.route(t.find_device(from), t.find_device(to)).vertices); });
          },
          nb::arg("source"), nb::arg("target"), "The names that a copy passes, both ends included.")
      .def("__repr__", [](const Topology& t) {
        return fmt::format("<Topology {}: {} devices, {} links>", t.name(), t.device_count(), t.spec().links.size());
      });
  m.def(
      "load",
      [](const std::string& name) {
        return translated([&] { return std::make_shared<Topology>(load_topology(name)); });
      },
      nb::arg("preset_or_file"),
      "A topology from the name of a preset or of a file. Raises ValueError for a malformed one, OSError for a file "
      "that "
      "cannot be read.");
  m.def(
      "presets",
      [] {
        nb::dict d;
        for (const Preset& preset : topology_presets()) d[python_text(preset.form)] = python_text(preset.meaning);
        return d;
      },
      "Presets and what they stand for.");
}

void bind_plans(nb::module_& m) {
  nb::class_<CommunicationPlan>(m, "Plan", "A collective operation as steps. Made by make().")
      .def_prop_ro(
          "strategy", [](const CommunicationPlan& p) { return python_text(p.strategy()); }, "How it sums.")
      .def_prop_ro(
          "collective", [](const CommunicationPlan& p) { return python_text(collective_name(p.collective())); },
          "'allreduce', 'reduce' or 'broadcast'.")
      .def_prop_ro("bytes", &CommunicationPlan::bytes, "Size of the buffer on each device.")
      .def_prop_ro(
          "devices", [](const CommunicationPlan& p) { return names_of(p.topology(), p.devices()); },
          "Names of the devices that take part.")
      .def_prop_ro(
          "owners",
          [](const CommunicationPlan& p) {
            nb::list list;
            for (const Owner& owner : p.owners())
              list.append(nb::make_tuple(owner.range.begin, owner.range.end, p.topology().device_name(owner.device)));
            return list;
          },
          "Where each range of bytes is summed: tuples (begin, end, device).")
      .def(
          "step_tuples",
          [](const CommunicationPlan& p) {
            nb::list list;
            for (const Step& step : p.steps()) list.append(step_tuple(p, step));
            return list;
          },
          "The fields of headrace.plan.Step for each step.")
      .def(
          "scratch_bytes",
          [](const CommunicationPlan& p, const std::string& device) {
            return translated([&] { return p.scratch_bytes(p.topology().find_device(device)); });
          },
          nb::arg("device"), "Bytes of memory that the plan needs on a device beside the buffer.")
      .def(
          "simulate", [](const CommunicationPlan& p) { return translated([&] {
                                                         return Run{p, simulate(p)};
                                                       }); },
          "Runs the plan on paper. Raises ValueError if that takes over a hundred days.")
      .def(
          "run",
          [](const CommunicationPlan& p, const std::map<std::string, std::vector<float>>& values) {
            return translated([&] { return run_plan(p, values); });
          },
          nb::arg("buffers"),
          "Carries out the plan on lists of floats, given and returned by name of the device: the check that it sums.")
      .def("to_json", &CommunicationPlan::json, "The plan as JSON.")
      .def("__str__", &CommunicationPlan::text)
      .def("__len__", [](const CommunicationPlan& p) { return p.steps().size(); });
}

void bind_simulation(nb::module_& m) {
  nb::class_<Run>(m, "Simulation", "What a plan takes by the model of its topology. Made by Plan.simulate().")
      .def_prop_ro(
          "picoseconds", [](const Run& r) { return r.simulation.total_ps; }, "The whole time, exactly.")
      .def_prop_ro(
          "seconds", [](const Run& r) { return static_cast<double>(r.simulation.total_ps) * kSecondsPerPicosecond; },
          "The whole time.")
      .def_prop_ro(
          "links",
          [](const Run& r) {
            nb::dict d;
            const auto resources = r.plan.topology().resources();
            for (size_t i = 0; i < resources.size(); ++i) {
              const ResourceLoad& load = r.simulation.resources[i];
              d[python_text(resources[i].name)] =
                  nb::make_tuple(static_cast<double>(load.busy_ps) * kSecondsPerPicosecond, load.bytes);
            }
            return d;
          },
          "For each direction of a link: (seconds in which something flowed, bytes that passed).")
      .def_prop_ro(
          "wire_bytes",
          [](const Run& r) {
            nb::dict d;
            const auto resources = r.plan.topology().resources();
            for (size_t i = 0; i < resources.size(); ++i)
              d[python_text(resources[i].name)] =
                  static_cast<double>(r.simulation.resources[i].bytes) * resources[i].wire_bytes;
            return d;
          },
          "For each direction of a link: bytes that passed, with the headers and gaps of their frames.")
      .def_prop_ro(
          "intervals",
          [](const Run& r) {
            nb::list list;
            for (const Interval& step : r.simulation.steps)
              list.append(nb::make_tuple(static_cast<double>(step.begin_ps) * kSecondsPerPicosecond,
                                         static_cast<double>(step.end_ps) * kSecondsPerPicosecond));
            return list;
          },
          "For each step: (begin, end) in seconds.")
      .def(
          "chrome_trace",
          [](const Run& r) {
            std::ostringstream out;
            write_chrome_trace(r.plan, r.simulation, out);
            return out.str();
          },
          "The text of a Chrome trace with a lane for each direction of a link.");
}

}  // namespace

void bind_plan(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("plan", "Communication plans. Use headrace.plan.");
  m.attr("MOST_SLICES") = kMostSlices;
  m.attr("MOST_BYTES") = kMostBytes;
  m.def("parse_bytes", [](const std::string& text, const std::string& what) {
    return translated([&] { return parse_bytes(text, what); });
  });
  bind_topology(m);
  bind_plans(m);
  bind_simulation(m);
  m.def(
      "strategies",
      [] {
        nb::dict d;
        for (const Strategy& strategy : strategies()) d[python_text(strategy.name)] = python_text(strategy.meaning);
        return d;
      },
      "Strategies and what they do.");
  nb::class_<CollectiveRequest>(m, "Request", "What make() and compare() are asked for.")
      .def(
          "__init__",
          [](CollectiveRequest* self, const TopologyPtr& topology, size_t bytes, const std::optional<Names>& devices,
             const std::optional<std::string>& root, const Names& servers, int slices, const std::string& collective,
             size_t element_bytes) {
            new (self) CollectiveRequest(translated([&] {
              return collective_request(topology, bytes, devices, root, servers, slices, collective, element_bytes);
            }));
          },
          nb::arg("topology"), nb::arg("bytes"), nb::arg("devices").none(), nb::arg("root").none(), nb::arg("servers"),
          nb::arg("slices"), nb::arg("collective"), nb::arg("element_bytes"))
      .def_prop_ro("devices", [](const CollectiveRequest& r) { return names_of(*r.topology, r.devices); });
  m.def(
      "make_plan",
      [](const std::optional<std::string>& strategy, const CollectiveRequest& request) {
        return translated([&] {
          const WithoutGil unlocked;
          return strategy ? make_plan(*strategy, request) : best_plan(request);
        });
      },
      nb::arg("strategy").none(), nb::arg("request"));
  m.def(
      "compare",
      [](const std::optional<std::string>& strategy, const CollectiveRequest& request) {
        return translated([&] { return comparison_list(strategy, request); });
      },
      nb::arg("strategy").none(), nb::arg("request"));
}

}  // namespace headrace::python
