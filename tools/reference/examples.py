"""Examples of operators: calls made from the samples in their definitions, executed."""

import functools
import math
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

import headrace
from headrace.util import np_array, np_shape

FLOATS = ("float32", "float64", "float16", "bfloat16")
METHODS = {"NDArray": "nd", "ndarray": "np"}  # classes of arrays to the module of their functions
LONG = 60  # characters of an input that is drawn instead of written out
SHOWN = 48  # as many elements of results are printed; of more only the shapes
TAKEN = {"nd", "np", "npx", "mx", "result", "lambda"}  # no names of variables

# Of operators that have no samples, as these would not do: lines of which the last is the call.
UNSAMPLED = {
    "Custom": [
        "class Double(mx.operator.CustomOp):",
        "    def forward(self, is_train, req, in_data, out_data, aux):",
        "        self.assign(out_data[0], req[0], in_data[0] * 2)",
        "class DoubleProp(mx.operator.CustomOpProp):",
        "    def create_operator(self, ctx, shapes, dtypes):",
        "        return Double()",
        "DoubleProp = mx.operator.register('double')(DoubleProp)",
        "nd.Custom(nd.array([1, 2]), op_type='double')",
    ],
    **{
        f"_contrib_{name}": [
            "edges = nd.array([[0, 1, 2], [3, 0, 4], [5, 6, 0]], dtype='int64').tostype('csr')",
            *lines,
        ]
        for name, lines in {
            "edge_id": ["nd.contrib.edge_id(edges, nd.array([0, 0]), nd.array([1, 0]))"],
            "getnnz": ["nd.contrib.getnnz(edges, axis=0)"],
            "dgl_adjacency": ["nd.contrib.dgl_adjacency(edges).asnumpy()"],
            "dgl_subgraph": [
                "vertices = nd.array([0, 2], dtype='int64')",
                "nd.contrib.dgl_subgraph(edges, vertices, return_mapping=False)[0].asnumpy()",
            ],
            "dgl_csr_neighbor_uniform_sample": [
                "seeds = nd.array([0], dtype='int64')",
                "nd.contrib.dgl_csr_neighbor_uniform_sample(edges, seeds, max_num_vertices=4)[0]",
            ],
            "dgl_csr_neighbor_non_uniform_sample": [
                "seeds, chances = nd.array([0], dtype='int64'), nd.array([1, 1, 1])",
                "sample = nd.contrib.dgl_csr_neighbor_non_uniform_sample",
                "sample(edges, chances, seeds, max_num_vertices=4)[0]",
            ],
            "dgl_graph_compact": [
                "seeds = nd.array([0], dtype='int64')",
                "sample = nd.contrib.dgl_csr_neighbor_uniform_sample",
                "ids, part, layers = sample(edges, seeds, max_num_vertices=4)",
                "nd.contrib.dgl_graph_compact(part, ids, graph_sizes=(3,), return_mapping=False).asnumpy()",
            ],
        }.items()
    },
}


class Example(NamedTuple):
    """Lines of a program, the last of which is an expression, and what Python shows of its value."""

    lines: list[str]
    shown: str

    def text(self) -> str:
        """As a session of Python."""
        prompts = [f"{'...' if line.startswith(' ') else '>>>'} {line}" for line in self.lines]
        return "\n".join([*prompts, self.shown.strip("\n")])


class NoExample(Exception):
    """An operator of which no sample makes an example; the text says why."""


def found_at(path: str) -> Any:
    """What users find at a path of the catalogue (`nd.linalg.gemm`, `NDArray.exp`)."""
    root, _, rest = path.partition(".")
    start = getattr(getattr(headrace, METHODS[root]), root) if root in METHODS else getattr(headrace, root)
    return functools.reduce(getattr, rest.split("."), start)


def own_paths(op: dict[str, Any]) -> list[str]:
    """Paths of the operator's own functions, then methods. At its other paths Python has functions."""
    public = [path for path in op["python"] if "._" not in path]
    paths = [path for path in public if getattr(found_at(path), "op_name", None) == op["name"]]
    return sorted(paths, key=lambda path: (path.split(".")[0] in METHODS, path.count(".")))


def example_of(op: dict[str, Any]) -> Example:
    """A call of the operator's first function with the smallest sample that has elements.

    Raises NoExample where no sample can be called.
    """
    path = own_paths(op)[0]
    if lines := UNSAMPLED.get(op["name"]):
        return _executed(lines[:-1], lines[-1], is_np=False)
    problems = [op["unsampled"] or ""]
    for sample in sorted(op["samples"], key=lambda sample: _rank(op, sample)):
        lines, call = list(_arrays(op, path, sample)), _call(op, path, sample)
        try:
            return _executed(lines, call, is_np=_module_of(path) == "np")
        except (headrace.MXNetError, TypeError, AttributeError) as error:
            problems.append(f"{call}: {error}")
    raise NoExample(f"{op['name']}: {' '.join(problems)}")


def _executed(lines: list[str], call: str, is_np: bool) -> Example:
    names = {name: getattr(headrace, name) for name in ("nd", "np", "npx")} | {"mx": headrace}
    with np_shape(is_np), np_array(is_np):
        exec("\n".join(lines), names)
        result = eval(call, names)
        arrays = result if isinstance(result, list) else [result]
        if sum(math.prod(one.shape) for one in arrays) <= SHOWN:
            return Example([*lines, call], repr(result))
        shapes = "[one.shape for one in result]" if isinstance(result, list) else "result.shape"
        return Example([*lines, f"result = {call}", shapes], repr(eval(shapes, {"result": result})))


def _rank(op: dict[str, Any], sample: dict[str, Any]) -> tuple[bool, bool, bool, int, int]:
    """Simple samples come first: with several elements but few, and few attributes."""
    sizes = [math.prod(one["shape"]) for one in sample["inputs"]]
    is_large = sum(sizes) > SHOWN
    return (not all(sizes), max(sizes, default=2) < 2, is_large, len(_given(op, sample)), sum(sizes))


def _module_of(path: str) -> str:
    root = path.partition(".")[0]
    return METHODS.get(root, "np" if root.startswith("np") else "nd")


def _input_names(op: dict[str, Any], path: str, count: int) -> list[str]:
    names = op["np_inputs"] if _module_of(path) == "np" and op["np_inputs"] else op["inputs"]
    if op["variadic"]:
        names = [*names[:-1], *(f"{names[-1]}{i}" for i in range(count - len(names) + 1))]
    return [f"{name}_" if name in TAKEN else name for name in names[:count]]


def _arrays(op: dict[str, Any], path: str, sample: dict[str, Any]) -> Iterator[str]:
    """Lines that make the inputs."""
    random = numpy.random.RandomState(zlib.crc32(op["name"].encode()))
    made = [_array(_module_of(path), one, random) for one in sample["inputs"]]
    if op["is_random"] or any(".random." in one for one in made):
        yield "mx.random.seed(7)"
    for name, one in zip(_input_names(op, path, len(made)), made):
        yield f"{name} = {one}"


def _array(module: str, one: dict[str, Any], random: numpy.random.RandomState) -> str:
    """An array with the values of a sample; uniform ones are drawn by the program where there are many."""
    shape, dtype = tuple(one["shape"]), one["dtype"]
    told = "" if dtype == "float32" else f", dtype='{dtype}'"
    if 0 in shape:
        return f"{module}.zeros({shape}{told})"
    if one["values"]:
        values = numpy.array(one["values"]).reshape(shape)
    else:
        digits = 1 if one["high"] - one["low"] >= 2 else 2
        values = numpy.round(random.uniform(one["low"], one["high"], shape), digits)
    if dtype not in FLOATS:
        values = numpy.floor(values).astype("int64")
    written = repr(values.tolist()).replace("nan", "float('nan')").replace("inf", "float('inf')")
    if one["values"] or len(written) <= LONG:
        return f"{module}.array({written}{told})"
    keyword = "size" if module == "np" else "shape"
    drawn = f"{module}.random.uniform({one['low']:g}, {one['high']:g}, {keyword}={shape})"
    return drawn if dtype == "float32" else f"{drawn}.astype('{dtype}')"


def _call(op: dict[str, Any], path: str, sample: dict[str, Any]) -> str:
    names = _input_names(op, path, len(sample["inputs"]))
    attributes = [f"{key}={value!r}" for key, value in _given(op, sample).items()]
    root, _, name = path.partition(".")
    if root in METHODS:
        return f"{names[0]}.{name}({', '.join([*names[1:], *attributes])})"
    arrays = [f"[{', '.join(names)}]"] if op["list_input"] else names
    return f"{path}({', '.join([*arrays, *attributes])})"


def _given(op: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    """The sample's attributes that a call has to name."""
    given = {}
    for field in op["fields"]:
        value = sample["attrs"].get(field["name"], field["default"])
        is_implied = field["of_files"] or (op["variadic"] and field["name"] == "num_args")
        if not is_implied and (field["required"] or value != field["default"]):
            given[field["name"]] = value
    return given
