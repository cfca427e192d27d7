#include "gluon/graph.h"

#include <algorithm>

#include "base/check.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "ndarray/serialize.h"
#include "op/trace.h"

namespace headrace::gluon {

// While it lives, the parameters give arrays that stand for them.
class TracedParameters {
 public:
  explicit TracedParameters(const ParameterDict& parameters) : parameters_(parameters) {
    for (const auto& [name, parameter] : parameters_) parameter->begin_trace(name);
  }
  ~TracedParameters() {
    for (const auto& [name, parameter] : parameters_) parameter->end_trace();
  }
  TracedParameters(const TracedParameters&) = delete;
  TracedParameters& operator=(const TracedParameters&) = delete;

 private:
  const ParameterDict& parameters_;
};

namespace {

constexpr size_t kMostTraces = 64;  // kinds of data that a block remembers
constexpr char kDataName[] = "data";

std::shared_ptr<const Graph> trace(Block& block, const NDArray& x) {
  const ParameterDict parameters = block.collect_params();
  NDArray y;
  {
    TracedParameters stand_ins(parameters);
    TraceScope scope(thread_state().training, true);
    y = block.forward(traced_variable(kDataName, x.shape(), x.dtype(), {}));
  }
  return std::make_shared<const Graph>(symbol_of_trace({y}), std::vector<std::string>{kDataName}, parameters);
}

}  // namespace

Graph::Graph(Symbol symbol, const std::vector<std::string>& data_names, const ParameterDict& parameters)
    : op_(std::move(symbol)), data_count_(data_names.size()) {
  for (const std::string& name : op_.symbol().list_inputs()) {
    const auto place = std::find(data_names.begin(), data_names.end(), name);
    const auto parameter = parameters.find(name);
    check((place == data_names.end()) != (parameter == parameters.end()), ErrorKind::kValue,
          "Block: '{}' must be the name of an input or of a parameter; rename the parameter if it is both", name);
    if (parameter == parameters.end())
      sources_.push_back({static_cast<size_t>(place - data_names.begin()), nullptr});
    else
      sources_.push_back({0, parameter->second});
  }
}

std::vector<NDArray> Graph::run(std::span<const NDArray> data) const {
  std::vector<NDArray> inputs;
  inputs.reserve(sources_.size());
  const bool says_device = !data.empty() && !is_abstract(data[0]);
  for (const Source& source : sources_) {
    if (!source.parameter)
      inputs.push_back(data[source.argument]);
    else
      inputs.push_back(says_device ? source.parameter->data(data[0].device()) : source.parameter->data());
  }
  return op_(inputs);
}

void Graph::write(const std::string& path, int epoch) const {
  const GraphInputs inputs = inputs_of(op_.symbol().outputs());
  NamedArrays saved;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (!sources_[i].parameter) continue;
    saved.names.push_back((inputs.is_auxiliary[i] ? "aux:" : "arg:") + inputs.all[i]->label->name);
    saved.arrays.push_back(sources_[i].parameter->reduce());
  }
  op_.symbol().save(path + "-symbol.json");
  save_arrays(fmt::format("{}-{:04}.params", path, epoch), saved.arrays, saved.names, false);
}

std::shared_ptr<const Graph> Traces::graph_for(Block& block, const NDArray& x) {
  if (const size_t parts = block.part_count(); parts != part_count_) {
    traced_.clear();
    part_count_ = parts;
  }
  const bool training = thread_state().training;
  std::shared_ptr<const Graph> of_other_mode;
  for (const Traced& one : traced_) {
    if (one.dtype != x.dtype() || one.shape != x.shape()) continue;
    if (one.training == training) return one.graph;
    of_other_mode = one.graph;
  }
  std::shared_ptr<const Graph> graph = trace(block, x);
  if (of_other_mode && of_other_mode->symbol().to_json() == graph->symbol().to_json()) graph = of_other_mode;
  if (traced_.size() == kMostTraces) traced_.pop_back();
  traced_.insert(traced_.begin(), {x.shape(), x.dtype(), training, graph});
  return graph;
}

}  // namespace headrace::gluon
