"""Symbols as tables and drawings."""

import json
import pathlib
import re

from .name import PARAMETER_SUFFIXES
from .symbol import Symbol

__all__ = ["Digraph", "plot_network", "print_summary"]


def _nodes(symbol):
    """(nodes, numbers of the nodes that are outputs) of a symbol's JSON. TypeError: it is no symbol."""
    if not isinstance(symbol, Symbol):
        raise TypeError("symbol must be Symbol")
    graph = json.loads(symbol.tojson())
    for node in graph["nodes"]:
        node["attrs"] = node.get("attrs", {})
    return graph["nodes"], {head[0] for head in graph["heads"]}


def _shapes(symbol, shape):
    """Output name to shape, of all nodes. ValueError: a shape stays unknown."""
    internals = symbol.get_internals()
    _, shapes, _ = internals.infer_shape(**shape)
    if shapes is None:
        raise ValueError("Input shape is incomplete")
    return dict(zip(internals.list_outputs(), shapes))


def _output_name(node):
    return node["name"] if node["op"] == "null" else node["name"] + "_output"


def _numbers(text):
    """The digits in the text of a tuple."""
    return re.findall(r"\d+", text)


def _parameter_count(node, channels, shapes):
    """How many parameters a node has, after its attributes; `channels` is the sum of its inputs' extents."""
    attributes = node["attrs"]
    has_bias = attributes.get("no_bias") != "True"
    if node["op"] == "Convolution":
        filters = int(attributes["num_filter"])
        count = channels * filters // int(attributes.get("num_group", "1"))
        for extent in _numbers(attributes["kernel"]):
            count *= int(extent)
        return count + filters * has_bias
    if node["op"] == "FullyConnected":
        return (channels + has_bias) * int(attributes["num_hidden"])
    if node["op"] == "BatchNorm":
        return 2 * int(shapes[_output_name(node)][1]) if shapes else 0
    if node["op"] == "Embedding":
        return int(attributes["input_dim"]) * int(attributes["output_dim"])
    return 0


def print_summary(symbol, shape=None, line_length=120, positions=(0.44, 0.64, 0.74, 1.0)):
    """Prints a table of a symbol's operators: name and type, shape of the output without its first axis,
    number of parameters, inputs.

    `shape`: shapes of inputs by name; without it there are no shapes, and numbers of parameters leave out
    what depends on them. `positions`: where the columns end, in characters or, if the last is at most 1, in
    parts of `line_length`. TypeError: no symbol. ValueError: `shape` does not tell all shapes.

    Examples
    --------
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc")
    >>> mx.viz.print_summary(net, shape={"data": (1, 8)}, line_length=72)
    ________________________________________________________________________
    Layer (type)                   Output Shape   Param #Previous Layer
    ========================================================================
    data(null)                     8              0
    ________________________________________________________________________
    fc(FullyConnected)             4              36     data
    ========================================================================
    Total params: 36
    ________________________________________________________________________
    """
    nodes, heads = _nodes(symbol)
    shapes = _shapes(symbol, shape) if shape is not None else {}
    if positions[-1] <= 1:
        positions = [int(line_length * part) for part in positions]

    def print_row(fields):
        line = ""
        for field, end in zip(fields, positions):
            line = (line + str(field))[:end].ljust(end)
        print(line)

    print("_" * line_length)
    print_row(["Layer (type)", "Output Shape", "Param #", "Previous Layer"])
    print("=" * line_length)
    total = 0
    for number, node in enumerate(nodes):
        if node["op"] == "null" and number > 0:
            continue
        before, channels = [], 0
        for index, *_ in node["inputs"]:
            if nodes[index]["op"] != "null" or index in heads or index == 0:
                before.append(nodes[index]["name"])
                channels += int(shapes.get(_output_name(nodes[index]), (0, 0))[1])
        count = _parameter_count(node, channels, shapes)
        extents = shapes.get(_output_name(node), ())[1:]
        print_row(
            [f"{node['name']}({node['op']})", "x".join(map(str, extents)), count, before[0] if before else ""]
        )
        for name in before[1:]:
            print_row(["", "", "", name])
        total += count
        print(("=" if number == len(nodes) - 1 else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)


_IDENTIFIER = re.compile(r"[a-zA-Z_]\w*|-?(\.\d+|\d+(\.\d*)?)", re.ASCII)
_KEYWORDS = {"node", "edge", "graph", "digraph", "subgraph", "strict"}


def _quote(text):
    """`text` as an identifier of the DOT language."""
    if _IDENTIFIER.fullmatch(text) and text.lower() not in _KEYWORDS:
        return text
    return '"' + text.replace('"', '\\"') + '"'


class Digraph:
    """A directed graph in the DOT language: `source` is its text. What `plot_network` gives where the package
    graphviz is not; where it is, that is graphviz's own.

    Examples
    --------
    >>> graph = mx.viz.plot_network(sym.relu(sym.var("x"), name="act"))
    >>> "act" in graph.source
    True
    """

    def __init__(self, name="plot", format="pdf"):  # noqa: A002
        self.name = name
        self.format = format
        self.body = []

    @staticmethod
    def _attributes(label, attributes):
        pairs = [("label", label)] if label is not None else []
        pairs += sorted(attributes.items())
        listed = " ".join(f"{key}={_quote(str(value))}" for key, value in pairs)
        return f" [{listed}]" if pairs else ""

    def node(self, name, label=None, **attributes):
        """Adds a node."""
        self.body.append(f"\t{_quote(name)}{self._attributes(label, attributes)}\n")

    def edge(self, tail_name, head_name, label=None, **attributes):
        """Adds an edge."""
        ends = f"{_quote(tail_name)} -> {_quote(head_name)}"
        self.body.append(f"\t{ends}{self._attributes(label, attributes)}\n")

    @property
    def source(self):
        """The text of the graph."""
        return f"digraph {_quote(self.name)} {{\n{''.join(self.body)}}}"

    def __str__(self):
        return self.source

    def save(self, filename=None, directory=None):
        """Writes the text to a file (default: `<name>.gv`) and gives its path."""
        path = pathlib.Path(directory or ".") / (filename or f"{self.name}.gv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.source, encoding="utf-8")
        return str(path)

    def _drawing(self):
        try:
            import graphviz
        except ImportError:
            raise ImportError(
                "drawing a network needs the package graphviz (pip install graphviz) and its program dot; "
                "without them, save() writes the text"
            ) from None
        return graphviz.Source(self.source, filename=f"{self.name}.gv", format=self.format)

    def render(self, filename=None, directory=None, view=False, **kwargs):
        """Draws the graph to a file and gives its path. ImportError: graphviz is not there."""
        return self._drawing().render(filename, directory, view, **kwargs)

    def view(self, filename=None, directory=None, **kwargs):
        """As render, and shows the file."""
        return self.render(filename, directory, True, **kwargs)

    def pipe(self, format=None, **kwargs):  # noqa: A002
        """The drawing as bytes. ImportError: graphviz is not there."""
        return self._drawing().pipe(format, **kwargs)

    def _repr_mimebundle_(self, include=None, exclude=None, **kwargs):
        return self._drawing()._repr_mimebundle_(include, exclude, **kwargs)


# What nodes of an operator look like: a colour, and a label made of attributes.
_COLOURS = {
    "null": "#8dd3c7",
    **dict.fromkeys(("Convolution", "FullyConnected"), "#fb8072"),
    **dict.fromkeys(("Activation", "LeakyReLU"), "#ffffb3"),
    "BatchNorm": "#bebada",
    "Pooling": "#80b1d3",
    **dict.fromkeys(("Concat", "Flatten", "Reshape"), "#fdb462"),
    "Softmax": "#b3de69",
}
_OTHER_COLOUR = "#fccde5"


def _label(node):
    op, attributes = node["op"], node["attrs"]
    kernel = "x".join(_numbers(attributes.get("kernel", "")))
    stride = "x".join(_numbers(attributes.get("stride", ""))) or "1"
    if op == "Convolution":
        return f"{op}\n{kernel}/{stride}, {attributes['num_filter']}"
    if op == "FullyConnected":
        return f"{op}\n{attributes['num_hidden']}"
    if op in ("Activation", "LeakyReLU"):
        return f"{op}\n{attributes.get('act_type', '')}"
    if op == "Pooling":
        return f"{op}\n{attributes.get('pool_type', 'max')}, {kernel}/{stride}"
    return attributes.get("op_type", node["name"]) if op == "Custom" else node["name"]


def _empty_graph(title, save_format):
    try:
        import graphviz
    except ImportError:
        return Digraph(title, save_format)
    return graphviz.Digraph(name=title, format=save_format)


def plot_network(symbol, title="plot", save_format="pdf", shape=None, dtype=None, node_attrs=None,
                 hide_weights=True):  # fmt: skip
    """A Digraph of a symbol's operators, each pointing to its inputs; graphviz's own, where it is.

    With `shape` (shapes of inputs by name) edges say the shapes of single samples, with `dtype` (dtypes by
    name) their dtypes. `node_attrs` are attributes for all nodes. Parameters get no edges if
    `hide_weights`. TypeError: no symbol. ValueError: `shape` does not tell all shapes.

    Examples
    --------
    >>> net = sym.relu(sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc"), name="act")
    >>> picture = mx.viz.plot_network(net, shape={"data": (1, 8)})
    >>> [line.strip() for line in picture.source.splitlines() if "->" in line][0]
    'fc -> data [label=8 arrowtail=open dir=back]'
    """
    nodes, _ = _nodes(symbol)
    shapes = _shapes(symbol, shape) if shape else {}
    dtypes = {}
    if dtype:
        internals = symbol.get_internals()
        _, found, _ = internals.infer_type(**dtype)
        dtypes = dict(zip(internals.list_outputs(), found))
    known = {*shapes, *dtypes}
    look = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
    look.update(node_attrs or {})
    graph = _empty_graph(title, save_format)
    weights = {
        node["name"] for node in nodes if node["op"] == "null" and node["name"].endswith(PARAMETER_SUFFIXES)
    }
    for node in nodes:
        if node["name"] in weights:
            continue
        own = {**look, "fillcolor": _COLOURS.get(node["op"], _OTHER_COLOUR)}
        if node["op"] == "null":
            own["shape"] = "oval"
        graph.node(node["name"], _label(node), **own)
    for node in nodes:
        for index, output, *_ in node["inputs"]:
            before = nodes[index]
            if hide_weights and before["name"] in weights:
                continue
            name = _output_name(before)
            if name not in known and f"{name}{output}" in known:
                name += str(output)
            text = "x".join(map(str, shapes.get(name, ())[1:]))
            if name in dtypes:
                text += f"({dtypes[name].__name__})"
            graph.edge(node["name"], before["name"], text, arrowtail="open", dir="back")
    return graph
