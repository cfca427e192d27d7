"""Goes through a symbol's nodes in order and has the translator of each write it."""

import json
import logging

import numpy as np

from ....base import MXNetError
from ._graph import Graph
from ._node import Node

# Losses, whose second input is left out of the model.
LOSSES = {
    "SoftmaxOutput",
    "LogisticRegressionOutput",
    "LinearRegressionOutput",
    "MAERegressionOutput",
    "SVMOutput",
}


class Walk:
    """A symbol's nodes. `inputs` are the names of its arguments without parameters and labels."""

    def __init__(self, sym, params, translators, verbose=False):
        self.sym, self.params, self.translators, self.verbose = sym, params, translators, verbose
        self.internals = sym.get_internals()
        self.content = json.loads(self.internals.tojson())
        self.heads = json.loads(sym.tojson())["heads"]
        labels = self._labels()
        self.inputs = [n for n in sym.list_inputs() if n not in params and n not in labels]
        self._check()

    def _labels(self):
        """Variables that nothing reads but losses, as their labels."""
        nodes = self.content["nodes"]
        as_label, otherwise = set(), {head[0] for head in self.heads}
        for node in nodes:
            for place, (source, *_) in enumerate(node["inputs"]):
                (as_label if node["op"] in LOSSES and place == 1 else otherwise).add(source)
        return {nodes[index]["name"] for index in as_label - otherwise if nodes[index]["op"] == "null"}

    def _check(self):
        for node in self.content["nodes"]:
            if node["op"] != "null" and node["op"] not in self.translators:
                raise MXNetError(
                    f"export_model: no translation of operator {node['op']} (node {node['name']}) to ONNX; "
                    "get_operator_support() lists the operators that have one"
                )

    def _inferred(self, shapes, types):
        """The shape and the dtype of each output of each node, by (node, output)."""
        known = {name: p.shape for name, p in self.params.items() if name in self.sym.list_arguments()}
        dtypes = {name: self.params[name].dtype for name in known}
        known.update(zip(self.inputs, shapes))
        dtypes.update(zip(self.inputs, types))
        places = [(head[0], head[1]) for head in self.content["heads"]]
        _, found, _ = self.internals.infer_shape(**known)
        _, kinds, _ = self.internals.infer_type(**dtypes)
        if found is None or kinds is None:
            raise MXNetError(
                f"export_model: shapes and types of {known} do not determine those of the symbol's nodes; "
                "expected all parameters"
            )
        return dict(zip(places, map(tuple, found))), dict(zip(places, map(np.dtype, kinds)))

    def write(self, onnx, shapes, types, dynamic):
        """The graph and its outputs, as (name, dtype, shape), for the inputs' shapes and types."""
        shape_of, type_of = self._inferred(shapes, types)
        graph = Graph(onnx, dynamic)
        names, taken = {}, set(self.sym.list_inputs())
        for index, content in enumerate(self.content["nodes"]):
            if content["op"] == "null":
                if content["name"] in self.params:
                    graph.constants[content["name"]] = self.params[content["name"]]
                names[index, 0] = content["name"]
                continue
            node = Node(content["op"], content["name"], content.get("attrs", {}))
            if self.verbose:
                logging.info("export_model: node %d, operator %s, name %s", index, node.operator, node.name)
            sources = [(source[0], source[1]) for source in content["inputs"]]
            if content["op"] in LOSSES:
                sources = sources[:1]
            for source in sources:
                if source not in names:
                    raise node.error(f"reads output {source[1]} of another node, which ONNX does not have")
            node.inputs = [names[source] for source in sources]
            node.shapes = [shape_of[source] for source in sources]
            node.dtypes = [type_of[source] for source in sources]
            outputs = range(sum(place[0] == index for place in shape_of))
            node.out_shapes = [shape_of[index, i] for i in outputs]
            node.out_dtypes = [type_of[index, i] for i in outputs]
            unique = node.name if node.name not in taken else f"idx_{index}_{node.name}"
            taken.add(unique)
            for i, name in enumerate(self._translated(graph, node, unique)):
                names[index, i] = name
        results = []
        for head in self.heads:
            place = (head[0], head[1])
            if place not in names:
                raise MXNetError(f"export_model: output {head[1]} of a node has no translation to ONNX")
            shape = shape_of[place]
            results.append((names[place], type_of[place], [None] * len(shape) if dynamic else shape))
        return graph, self._distinct(graph, results)

    def _translated(self, graph, node, unique):
        """The names of a node's outputs: the node's own, with a number where there are several."""
        first = len(graph.nodes)
        results = self.translators[node.operator](graph, node)
        results = [results] if isinstance(results, str) else list(results)
        wanted = [unique] if len(results) == 1 else [f"{unique}{i}" for i in range(len(results))]
        for i, (old, new) in enumerate(zip(results, wanted)):
            if old in results[:i] or not graph.rename(first, old, new):
                graph.rename(first, graph.add("Identity", [old]), new)
        return wanted

    def _distinct(self, graph, results):
        """Outputs that are inputs, parameters or named twice get nodes of their own."""
        seen, own = set(self.sym.list_inputs()), []
        for name, dtype, shape in results:
            if name in seen:
                name = graph.add("Identity", [name])
            seen.add(name)
            own.append((name, dtype, shape))
        return own
