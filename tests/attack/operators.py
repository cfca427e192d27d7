"""Hostile arguments for every function of nd, np and npx, for the methods of their arrays and for expressions."""

import ast
import ctypes
import sys

from arguments import array, value
from child import CANARY, Attack, Finding, check_error, execute, namespace
from functions import functions

OUTS = ("a0", "a0", "a0[::-1]", "a0.T", "a0[:1]", "None", "3", "[]", "[a0, a0]")
KEYS = (
    *("0", "-1", "2**31", "2**62", "-2**63", "2**64", "nan", "None", "...", "'a'", "True", "(0, 0)", "(..., -1)"),
    *("slice(None, None, -1)", "slice(None, None, 0)", "slice(2**62, None)", "slice(None, None, 2**63 - 1)"),
    *("slice(-2**63, 2**63 - 1, -2**63)", "[0, 0]", "[2**62]", "[[0], [1]]", "numpy.array([True, False])"),
    *("(0,) * 40", "(None,) * 40", "(slice(None), [0, -1])", "[]", "()", "numpy.zeros((0,), dtype='int64')"),
)
SHAPES_ONLY = {"shape_array", "size_array", "shape", "zeros_like", "ones_like", "full_like", "empty_like"}
TOO_LARGE = 1 << 36  # bytes of an array that cannot have values
REPEATS = 100
GROWTH = 16  # bytes for each call


class Operators(Attack):
    """Every function with hostile arguments."""

    programs = 6000

    def start(self):
        from headrace import sim

        sim.configure(gpus=2, clock="virtual")
        self._functions = functions()
        self._by_path = {function.path: function for function in self._functions}
        execute("nd.dot(nd.ones((64, 64)), nd.ones((64, 64))).asnumpy()", namespace())

    # --- making programs ---

    def program(self, random):
        function = random.choice(self._functions)
        given = _from_sample(random, function) or _from_kinds(random, function)
        lines, arrays, call = [], 0, []
        for parameter, text in given:
            if parameter.kind in ("self", "array", "operand"):
                lines.append(f"a{arrays} = {text}")
                text = f"a{arrays}"
                arrays += 1
            call.append(text if parameter.required and parameter.kind != "arrays" else f"{parameter.name}={text}")
        if arrays and random.random() < 0.1:
            lines.append("out = " + (random.choice(OUTS) if random.random() < 0.6 else array(random, function.front)))
            call.append("out=out")
        positional = [text for text in call if "=" not in text.split("(")[0]]
        named = [text for text in call if "=" in text.split("(")[0]]
        target = function.path
        if function.is_method:
            target = positional.pop(0) + target if positional else "a0" + target
        return "\n".join([*lines, f"result = {target}({', '.join(positional + named)})"])

    # --- running them ---

    def run(self, text):
        names = namespace()
        *before, last = ast.parse(text).body
        if not execute("\n".join(map(ast.unparse, before)), names):
            return
        arrays = {name: names[name] for name in names if name[0] == "a" and name[1:].isdigit()}
        values = {name: _bytes(one) for name, one in arrays.items()}
        _poison(names["nd"])
        last = ast.unparse(last)
        execute(last, names)
        subject = self.subject(last)
        result = [names.get("result")]
        if "out" in names:
            result.append(names["out"])
        if "empty" not in subject:
            _check_canary(result)
        if subject.rpartition(".")[2] not in SHAPES_ONLY:
            _check_size(arrays.values(), result)
        if "out" not in names and not self._may_write(subject):
            for name, one in arrays.items():
                if _bytes(one) != values[name]:
                    raise Finding("argument changed", f"{subject} wrote to {name}")
        if sum(text.encode()) % 20 == 0:
            _check_growth(last, names)
        _drain(names["mx"])

    def _may_write(self, subject):
        function = self._by_path.get(subject) or self._by_path.get("." + subject.partition(".")[2])
        return function is not None and function.mutates


def _from_sample(random, function):
    """Arguments of a sample in the catalogue, of which up to two are replaced."""
    if not function.description or not function.description["samples"] or random.random() < 0.4:
        return None
    sample = random.choice(function.description["samples"])
    given = []
    inputs = [_sample_array(one, function.front) for one in sample["inputs"]]
    for parameter in function.parameters:
        if parameter.kind == "arrays":
            given.append((parameter, "[" + ", ".join(inputs) + "]"))
        elif parameter.kind in ("self", "array"):
            if inputs:
                given.append((parameter, inputs.pop(0)))
        elif parameter.required or sample["attrs"].get(parameter.name, parameter.default) != parameter.default:
            given.append((parameter, repr(sample["attrs"].get(parameter.name))))
        elif random.random() < 0.1:
            given.append((parameter, value(random, parameter, function.front)))
    for _ in range(random.choice((0, 1, 1, 2))):
        if given:
            place = random.randrange(len(given))
            given[place] = (given[place][0], value(random, given[place][0], function.front))
    return given


def _sample_array(one, front):
    size = 1
    for extent in one["shape"]:
        size *= extent
    elements = one["values"] or f"numpy.linspace({one['low']}, {one['high']}, {size})"
    elements = str(elements).replace("1.7976931348623157e+308", "inf")
    return f"{front}.array(numpy.reshape({elements}, {tuple(one['shape'])}), dtype='{one['dtype']}')"


def _from_kinds(random, function):
    """Arguments that fit the kinds of the parameters; optional ones now and then."""
    return [
        (parameter, _argument(random, parameter, function.front))
        for parameter in function.parameters
        if parameter.required or random.random() < 0.3
    ]


def _argument(random, parameter, front):
    if parameter.kind == "operand":
        other = random.choice(("numpy.ones((2, 3))", "numpy.float64(2)", "numpy.ones(3, dtype='uint64')", "2", "nan"))
        return other if random.random() < 0.25 else array(random, front)
    if parameter.name in ("key", "index", "indices") and random.random() < 0.8:
        return random.choice(KEYS)
    return value(random, parameter, front)


# --- what must hold ---


def _arrays(result):
    """The arrays in a result that may be a list, or lists of lists."""
    from headrace.ndarray import NDArray

    if isinstance(result, NDArray):
        yield result
    elif isinstance(result, (list, tuple)):
        for one in result[:100]:
            yield from _arrays(one)


def _bytes(one):
    """The bits of an array; None: it is no array, or has an error instead."""
    for array in _arrays(one):
        try:
            return array.asnumpy().tobytes()
        except Exception as error:
            check_error(error)
    return None


def _poison(nd):
    """Fills the memory that the next arrays will get with the canary."""
    kept = [nd.full((size,), CANARY[0], dtype="uint8") for size in (1, 64, 65, 200, 500, 2000, 8000, 60000) * 3]
    for one in kept:
        one.wait_to_read()


def _check_canary(result):
    for array in _arrays(result):
        if CANARY in (_bytes(array) or b""):
            raise Finding("foreign memory", f"{array.shape} of {array.dtype} shows what was there before")


def _check_size(arrays, result):
    """A value that was computed from an array which has none is foreign memory as well."""
    for one in _arrays(list(arrays)):
        if one.size * one._numpy_dtype.itemsize > TOO_LARGE:
            for array in _arrays(result):
                if 0 < array.size < 100 and _bytes(array) is not None:
                    raise Finding("foreign memory", f"values that were computed from an array of shape {one.shape}")


class _Mallinfo(ctypes.Structure):
    _fields_ = [(f"field{i}", ctypes.c_size_t) for i in range(10)]


_mallinfo = ctypes.CDLL(None).mallinfo2
_mallinfo.restype = _Mallinfo


def _used():
    """Bytes that malloc and Python have given."""
    info = _mallinfo()
    return info.field7 + info.field4 + 64 * sys.getallocatedblocks()  # in use; in mappings of their own


def _check_growth(call, names):
    """Repeats of one call need no more memory, whether it succeeds or raises."""
    code = compile(call, "<program>", "exec")

    def repeat(times):
        for _ in range(times):
            try:
                exec(code, names)
                _bytes(names.pop("result", None))
            except Exception:
                pass
        _drain(names["mx"])
        return _used()

    # A pool may grow a little and by chance; a leak grows each time, however often.
    repeat(REPEATS)
    for times in (REPEATS, 10 * REPEATS):
        steps = [repeat(times) for _ in range(4)]
        grown = [(after - before) / times for before, after in zip(steps, steps[1:])]
        if min(grown) < GROWTH:
            return
    raise Finding("growth", f"{[round(one) for one in grown]} bytes for each call")


def _drain(mx):
    """Raises away the errors of arrays that nobody has read."""
    while True:
        try:
            return mx.waitall()
        except Exception as error:
            check_error(error)


ATTACK = Operators()
