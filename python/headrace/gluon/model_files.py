"""Models in two files: what their blocks are called and the graphs of those that were hybridized, and the
parameters.

`PREFIX-model.json` holds, block in block, under the class name in lower case and the block's number (depth
first): `orig_name`, `children` (name of each child to what its parent calls it), `hybridized`, and of a block
with a graph `symbol`, `inputs`, `in_format` and `out_format`. The format is MXNet's.
"""

import itertools
import json
import pathlib

from .. import symbol as sym
from .._file import write_file
from ..base import MXNetError
from .graph import Graph

__all__ = ["load_model", "save_model"]


def _numbered(block, counter):
    """The key of a block, which takes the next number of `counter`."""
    return f"{type(block).__name__.lower()}{next(counter)}"


def _described(block, counter):
    described = {"orig_name": block.name}
    if block._is_hybrid:
        graph = block._traced_graph
        if graph is not None:
            described["in_format"], described["out_format"] = graph.in_format, graph.out_format
            described["inputs"] = [sym.var(name).tojson() for name in graph.data_names]
            described["symbol"] = graph.outputs.tojson()
        described["hybridized"] = graph is not None
    described["children"] = {child.name: name for name, child in block._children.items()}
    for child in block._children.values():
        key = _numbered(child, counter)
        described[key] = _described(child, counter)
    return described


def save_model(block, prefix):
    """Writes the two files. See Block.save."""
    counter = itertools.count()
    key = _numbered(block, counter)
    model = {key: _described(block, counter)}
    write_file(f"{prefix}-model.json", json.dumps(model))
    block.save_parameters(f"{prefix}-model.params")


class _Reader:
    """Brings what the file `name` says into blocks."""

    def __init__(self, name):
        self._name = name
        self._counter = itertools.count()

    def _refuse(self, text):
        raise MXNetError(f"Block.load: {self._name}: {text}")

    def _part(self, described, key, kind):
        if not isinstance(described.get(key), kind):
            self._refuse(f"{key!r} is missing, or no {kind.__name__}: this is no file of Block.save")
        return described[key]

    def restore(self, block, outer):
        """Brings what `outer` says of the next block into `block` and its children."""
        key = _numbered(block, self._counter)
        if key not in outer:
            self._refuse(
                f"there is no {key}, but {', '.join(k for k in outer if isinstance(outer[k], dict))}; the "
                "model must be made of the same blocks in the same order as when it was saved"
            )
        described = self._part(outer, key, dict)
        self._rename(block, self._part(described, "orig_name", str))
        names = self._part(described, "children", dict)
        for child in block._children.values():
            self.restore(child, described)
        children = list(block._children.values())
        if {child.name for child in children} != set(names):
            self._refuse(f"{key} has the children {', '.join(names)}")
        if len(names) == len(children):  # one that stands in several places is in the file once
            block._children = type(block._children)((names[child.name], child) for child in children)
        if block._is_hybrid and described.get("hybridized"):
            self._set_graph(block, described)

    @staticmethod
    def _rename(block, name):
        if block.name == name:
            return
        old, new = block.prefix, f"{name}_" if name else ""
        block._name, block._prefix = name, new
        renamed = type(block.params._params)()
        for known, parameter in block.params._params.items():
            now = new + known.removeprefix(old) if known.startswith(old) else known  # others are shared
            renamed[now] = parameter
            if parameter.name == known != now:
                parameter.name, parameter._var = now, None
        block.params._params, block.params._prefix = renamed, new

    def _set_graph(self, block, described):
        outputs = sym.load_json(self._part(described, "symbol", str))
        names = [sym.load_json(one).name for one in self._part(described, "inputs", list)]
        parameters = dict(block.collect_params().items())
        missing = [name for name in outputs.list_inputs() if name not in parameters and name not in names]
        if missing:
            self._refuse(
                f"the graph of {block.name} reads {', '.join(missing)}, which the block does not have"
            )
        formats = (described.get("out_format"), described.get("in_format"))
        block._active = block._traces = True
        block._traced_graph = Graph(outputs, *formats, names, parameters)


def load_model(block, prefix):
    """Reads the two files into a block. See Block.load."""
    name = f"{prefix}-model.json"
    reader = _Reader(name)
    try:
        model = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise MXNetError(f"Block.load: {name}: {error.strerror}") from None
    except ValueError as error:
        reader._refuse(f"this is no JSON: {error}")
    if not isinstance(model, dict):
        reader._refuse("the model must be a JSON object")
    reader.restore(block, model)
    block.load_parameters(f"{prefix}-model.params")
