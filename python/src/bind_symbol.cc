// Symbols and compiled graphs.

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "graph/cached_op.h"
#include "graph/control_flow.h"
#include "graph/infer.h"
#include "graph/joined_layers.h"
#include "graph/labels.h"
#include "graph/nodes.h"
#include "graph/opened_call.h"
#include "graph/quantize.h"
#include "graph/tape_symbol.h"
#include "headrace/symbol.hpp"
#include "op/trace.h"
#include "op_function.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

using Texts = Symbol::Texts;

std::vector<Symbol> symbols_from(nb::handle sequence) {
  std::vector<Symbol> symbols;
  for (nb::handle item : sequence) symbols.push_back(item.is_none() ? Symbol() : nb::cast<Symbol>(item));
  return symbols;
}

nb::object type_of(const InferredTypes::Type& type) {
  nb::object shape = type.shape ? nb::steal(from_shape(*type.shape)) : nb::none();
  nb::object dtype = type.dtype ? nb::object(nb::str(std::string(dtype_name(*type.dtype)).c_str())) : nb::none();
  return nb::make_tuple(shape, dtype);
}

// [(shape, dtype)] of the inputs, as list_inputs(), and of the outputs; None where it is not known.
nb::object inferred(const Symbol& symbol, nb::dict shapes, nb::dict dtypes, bool np_shapes) {
  KnownTypes known{.zeros_are_known = np_shapes};
  for (auto [name, shape] : shapes) known.shapes.emplace(nb::cast<std::string>(name), to_shape(shape.ptr(), "shape"));
  for (auto [name, dtype] : dtypes) known.dtypes.emplace(nb::cast<std::string>(name), to_dtype(dtype.ptr()));
  const InferredTypes types = infer_types(symbol, known);
  nb::list inputs, outputs;
  for (const auto& type : types.inputs) inputs.append(type_of(type));
  for (const auto& type : types.outputs) outputs.append(type_of(type));
  return nb::make_tuple(inputs, outputs);
}

void set_attr(Symbol& s, const std::string& key, const std::string& value) {
  translated([&] {
    s.set_attr(key, value);
    return 0;
  });
}

void bind_bodies(nb::class_<Symbol>& symbol) {
  symbol
      .def_static("control_flow",
                  [](const std::string& op, const std::string& name, nb::handle inputs, const Texts& attrs,
                     const Texts& node_attrs, nb::handle bodies) {
                    return translated([&] {
                      return control_flow_node(op, name, symbols_from(inputs), attrs, node_attrs, symbols_from(bodies));
                    });
                  })
      .def_static(
          "call",
          [](const Symbol& body, const std::string& name, nb::handle inputs) {
            return translated([&] {
              const Symbol values = Symbol::group(symbols_from(inputs));
              return Symbol(opened_call(body.outputs(), name, values.outputs()));
            });
          },
          "A graph on inputs in the order of its list_inputs(), its operators called by `name` and theirs.")
      .def(
          "cut_body",
          [](const Symbol& s, const std::string& name) {
            return translated([&] {
              CutBody cut = cut_body(s.outputs(), name);
              nb::dict taken;
              for (auto& [variable, entry] : cut.taken) taken[variable.c_str()] = nb::cast(Symbol({entry}));
              return nb::make_tuple(nb::cast(Symbol(std::move(cut.heads))), taken);
            });
          },
          "The body that was composed under this __subgraph_name__, and what its new variables stand for.")
      .def(
          "node_outputs",
          [](const Symbol& s) {
            return translated([&] {
              std::vector<NDArray> outputs;
              Node* const node = s[0].outputs()[0].node().get();
              for (size_t i = 0; i < output_count(*node); ++i)
                outputs.push_back(output_of(node, static_cast<uint32_t>(i)));
              return Symbol(std::move(outputs));
            });
          },
          "All outputs of the node of the first one, those included that frontends do not return.")
      .def_prop_ro("output_index", [](const Symbol& s) { return s.size() ? s.outputs()[0].output_index() : 0; });
}

void bind_quantization(nb::class_<Symbol>& symbol) {
  symbol
      .def(
          "quantized",
          [](const Symbol& s, const std::vector<std::string>& excluded_nodes,
             const std::vector<std::string>& excluded_operators, const std::vector<std::string>& parameters,
             const std::string& dtype, bool smart, bool rowwise, bool fuse) {
            return translated([&] {
              QuantizeOptions options{.dtype = dtype, .smart = smart, .rowwise = rowwise, .fuse = fuse};
              options.excluded_nodes.insert(excluded_nodes.begin(), excluded_nodes.end());
              options.excluded_operators.insert(excluded_operators.begin(), excluded_operators.end());
              options.parameters.insert(parameters.begin(), parameters.end());
              QuantizedSymbol made = quantize(s, options);
              return nb::make_tuple(nb::cast(std::move(made.symbol)), made.calibrated);
            });
          },
          "The graph on bytes, and the names of what it can be told the ranges of.")
      .def("with_joined_layers",
           [](const Symbol& s, bool for_bytes) { return translated([&] { return with_joined_layers(s, for_bytes); }); })
      .def("with_ranges",
           [](const Symbol& s, const Ranges& ranges) { return translated([&] { return with_ranges(s, ranges); }); });
}

void bind_symbol_class(nb::module_& m) {
  nb::class_<Symbol> symbol(m, "SymbolHandle");
  bind_bodies(symbol);
  bind_quantization(symbol);
  symbol
      .def_static("variable", [](const std::string& name, const Texts& attrs) { return Symbol::variable(name, attrs); })
      .def_static("group", [](nb::handle parts) { return Symbol::group(symbols_from(parts)); })
      .def_static("apply",
                  [](const std::string& op, const std::string& name, nb::handle inputs, const Texts& attrs,
                     const Texts& node_attrs) {
                    return translated([&] { return Symbol::apply(op, name, symbols_from(inputs), attrs, node_attrs); });
                  })
      .def_static("from_json",
                  [](const std::string& text) { return translated([&] { return Symbol::from_json(text); }); })
      .def_static(
          "from_arrays",
          [](nb::handle arrays) { return translated([&] { return symbol_of_trace(arrays_from(arrays)); }); },
          "The traced graph that computes these arrays.")
      .def_static(
          "from_tape",
          [](nb::handle array) {
            return translated([&] { return symbol_of_tape(arrays_from(nb::make_tuple(array))[0]); });
          },
          "What was recorded to compute an array.")
      .def("to_json", &Symbol::to_json)
      .def("without_amp_casts", &Symbol::without_amp_casts)
      .def("with_common_nodes_merged", &Symbol::with_common_nodes_merged)
      .def_prop_ro(
          "is_random", [](const Symbol& s) { return draws_numbers(s.outputs()); },
          "Whether a node, or one of a body of it, draws random numbers.")
      .def("__len__", &Symbol::size)
      .def("output", [](const Symbol& s, size_t i) { return translated([&] { return s[i]; }); })
      .def_prop_ro("name", &Symbol::name)
      .def("list_arguments", &Symbol::list_arguments)
      .def("list_auxiliary_states", &Symbol::list_auxiliary_states)
      .def("list_inputs", &Symbol::list_inputs)
      .def("list_outputs", &Symbol::list_outputs)
      .def("internals", &Symbol::internals)
      .def("children", &Symbol::children)
      .def("attr", &Symbol::attr)
      .def("attrs", &Symbol::attrs)
      .def("attr_dict", &Symbol::attr_dict)
      .def("set_attr", set_attr)
      .def("compose",
           [](const Symbol& s, nb::dict replacements, const std::string& node_name) {
             return translated([&] {
               std::map<std::string, Symbol> by_name;
               for (auto [name, one] : replacements)
                 by_name.emplace(nb::cast<std::string>(name), nb::cast<Symbol>(one));
               return s.compose(by_name, node_name);
             });
           })
      .def(
          "infer",
          [](const Symbol& s, nb::dict shapes, nb::dict dtypes, bool np_shapes) {
            return translated([&] { return inferred(s, shapes, dtypes, np_shapes); });
          },
          nb::arg("shapes"), nb::arg("dtypes"), nb::arg("np_shapes") = false);
}

void bind_tracing(nb::module_& m) {
  m.def(
      "trace_variable",
      [](const std::string& name, nb::handle shape, nb::handle dtype, const Texts& attrs, bool np) {
        return translated([&] {
          return wrapped(traced_variable(name, to_shape(shape.ptr(), "shape"), to_dtype(dtype.ptr()), attrs), np);
        });
      },
      "An array without values that stands for an input of a traced graph.");
  m.def(
      "set_symbols",
      [](nb::type_object symbol_class, nb::handle compose) {
        set_symbols(reinterpret_cast<PyTypeObject*>(symbol_class.ptr()), compose.ptr());
      },
      "The class of symbols, and what puts a call on them together.");
  m.def(
      "is_symbol", [](nb::handle object) { return is_symbol(object.ptr()); }, nb::arg("object").none());
  m.def(
      "is_operand", [](nb::handle object) { return is_array(object.ptr()) || is_symbol(object.ptr()); },
      nb::arg("object").none(), "Whether something is an array or a symbol.");
}

void bind_cached_op(nb::module_& m) {
  nb::class_<CachedOp>(m, "CachedOp")
      .def(
          "__init__",
          [](CachedOp* self, const Symbol& symbol, bool compile) {
            translated([&] {
              new (self) CachedOp(symbol, CachedOp::Options{compile});
              return 0;
            });
          },
          nb::arg("symbol"), nb::arg("compile") = true)
      .def(
          "__call__",
          [](CachedOp& self, nb::handle inputs, bool np) {
            return translated([&] {
              const std::vector<NDArray> arrays = arrays_from(inputs);
              std::vector<NDArray> outputs;
              {
                const WithoutGil unlocked;
                outputs = self(arrays);
              }
              nb::list list;
              for (NDArray& output : outputs) list.append(wrapped(std::move(output), np));
              return list;
            });
          },
          "The outputs for a sequence of arrays, in the order of list_inputs().")
      .def(
          "reads_head_gradients",
          [](CachedOp& self, nb::handle inputs) {
            return translated([&] { return self.reads_head_gradients(arrays_from(inputs)); });
          },
          "Of a call that is recorded: for each output whether a gradient depends on the one with respect to it.")
      .def("explain", [](CachedOp& self, nb::handle inputs) {
        return translated([&] { return self.explain(arrays_from(inputs)); });
      });
}

}  // namespace

void bind_symbol(nb::module_& m) {
  bind_symbol_class(m);
  bind_tracing(m);
  bind_cached_op(m);
}

}  // namespace headrace::python
