"""np functions beside NumPy's of the same name: integers up to the last bit, nan and inf, hostile numbers."""

import operator
import re

from arguments import DTYPES, number, parameters_of_function, value
from child import Attack, Finding, check_error, execute, namespace

SHAPES = ("()", "(1,)", "(3,)", "(6,)", "(2, 3)", "(3, 2)", "(2, 3, 2)", "(0,)")
NUMPY_DTYPES = tuple(dtype for dtype in DTYPES if dtype not in ("bfloat16", "float16"))
EXPRESSIONS = (
    *("lt", "le", "eq", "ne", "gt", "ge", "add", "sub", "mul", "floordiv", "mod", "and_", "or_"),
    *("xor", "neg", "abs", "invert", "truediv"),
)
METHODS = (
    *("max", "min", "sum", "prod", "argmax", "argmin", "argsort", "sort", "mean", "std", "var"),
    *("cumsum", "round", "clip", "repeat", "nonzero", "all", "any", "astype", "item", "tolist"),
    *("flatten", "squeeze", "swapaxes"),
)
NUMBERS = (
    *("0.0", "-0.0", "1.0", "-1.0", "5.0", "nan", "inf", "-inf", "2**53", "2**53+3", "0", "1", "3"),
    *("-7", "0.1"),
)
# Where np differs from NumPy on purpose, or NumPy's result depends on its version: see docs/differences.md.
DIFFERENCES = {
    "empty": "has no values",
    "empty_like": "has no values",
    "may_share_memory": "is about other memory",
    "shares_memory": "is about other memory",
    "set_printoptions": "is no computation",
    "genfromtxt": "reads files",
}


# NumPy interpolates between inf and a number, which is nan; here the ends are what they are.
INTERPOLATING = ("linspace", "logspace", "geomspace", "percentile", "quantile", "median")


class Values(Attack):
    """np functions with integers beyond 2^63, nan, inf and hostile numbers, compared with NumPy's."""

    programs = 8000

    def start(self):
        import numpy

        from headrace import np

        self._functions = {
            name: parameters_of_function(getattr(numpy, name)) or parameters_of_function(getattr(np, name))
            for name in sorted(np.__all__)
            if callable(getattr(numpy, name, None)) and not isinstance(getattr(numpy, name), type)
        }

    def program(self, random, number):
        draw = random.random()
        if draw < 0.25:
            name = random.choice(EXPRESSIONS)
            count = 1 if name in ("neg", "abs", "invert") else 2
            arrays = [_array(random) for _ in range(count)]
            if count == 2 and random.random() < 0.4:
                arrays[1] = "numpy.array({}, dtype={!r})".format(*_number(random))
            return _text(arrays, f"operator.{name}", [])
        if draw < 0.35:
            name = random.choice(METHODS)
            rest = [] if random.random() < 0.5 else [_plain(random, "int")]
            return _text([_array(random)], f"operator.methodcaller({name!r}, {', '.join(rest)})", [])
        if draw < 0.4:
            return _creation(random)
        name = random.choice(list(self._functions))
        arrays, rest = [], []
        for parameter in self._functions[name]:
            if parameter.name in ("out", "where", "subok", "like", "device", "order", "initial"):
                continue
            if parameter.required:
                is_array = parameter.kind == "array" and (arrays or random.random() < 0.9)
                arrays.append(_array(random) if is_array else _plain(random, parameter.kind))
            elif random.random() < (0.25 if arrays and not arrays[0][0].isdigit() else 0.5):
                rest.append(f"{parameter.name}={_plain(random, parameter.kind)}")
        if not self._functions[name]:
            arrays = [_array(random) for _ in range(random.choice((1, 2)))]
        return _text(arrays, name, rest)

    def subject(self, text):
        return text.splitlines()[-1].partition("(")[2].partition(",")[0]

    def run(self, text):
        names = namespace()
        names["same"] = same
        return execute(text, names)


def _text(arguments, name, rest):
    lines = [f"a{i} = {text}" for i, text in enumerate(arguments)]
    call = ", ".join([name if "." in name else repr(name), *(f"a{i}" for i in range(len(arguments))), *rest])
    return "\n".join([*lines, f"same({call})"])


def _creation(random):
    """A range whose ends lie near each other, far from zero or not."""
    begin = random.choice(("0", "2**31", "2**53", "2**63 - 5", "-2**53", "inf", "nan", "1e300"))
    step, count = random.choice(("1", "1", "2", "0.5", "-1", "0")), random.choice(("0", "1", "3", "4"))
    dtype = f"dtype={random.choice(('int64', 'int64', 'float64', *NUMPY_DTYPES))!r}"
    name, last, rest = random.choice(
        (
            ("arange", f"{begin} + {count}", [step]),
            ("linspace", f"{begin} + {step}", [count]),
            ("full", begin, []),
            ("logspace", step, [count]),
        )
    )
    first = "(3,)" if name == "full" else begin
    return _text([first, last, *rest], name, [dtype])


def _number(random):
    dtype = random.choice(NUMPY_DTYPES)
    return number(random, dtype), dtype


def _array(random):
    dtype = random.choice((*NUMPY_DTYPES, "uint64", "uint64", "float32", "float64"))
    elements = ", ".join(number(random, dtype) for _ in range(random.choice((1, 2, 3, 6))))
    return f"numpy.resize(numpy.array([{elements}], dtype='{dtype}'), {random.choice(SHAPES)})"


def _plain(random, kind):
    """A value that is no array of Headrace: NumPy takes it as well."""
    match kind:
        case "array" | "float" | "any" | "int":
            return (
                random.choice(NUMBERS)
                if kind != "int" or random.random() < 0.3
                else random.choice(("0", "1", "-1", "2", "3"))
            )
        case "dtype":
            return repr(random.choice(NUMPY_DTYPES))
        case "arrays":
            return f"[{_array(random)}, {_array(random)}]"
    from arguments import Parameter

    return value(random, Parameter("", kind), "numpy")


def same(function, *arguments, **keywords):
    """Finding: a function, or np's of a name, gives something else for np arrays than NumPy's."""
    import numpy

    from headrace import np

    name = function if isinstance(function, str) else ""
    if name in DIFFERENCES or not _fits(arguments):
        return
    try:
        try:
            given = [_converted(np, one) for one in arguments]
            results = _parts((getattr(np, name) if name else function)(*given, **keywords))
        except Exception as error:
            check_error(error)
            return  # refused
        try:
            with numpy.errstate(all="ignore"):
                expected = _parts((getattr(numpy, name) if name else function)(*arguments, **keywords))
                if _is_beyond(keywords.get("dtype"), arguments, name, keywords):
                    return
        except Exception:
            return  # taken, and NumPy does not
        if len(results) != len(expected):
            raise Finding("wrong value", f"{len(results)} results, NumPy has {len(expected)}")
        for one, other in zip(results, expected):
            _compare(name, one, other, _has_nan(arguments))
    except Finding as finding:
        finding.subject = name or re.sub(
            r"operator.methodcaller\('|<built-in function |[>'].*", "", str(function)
        )
        raise


def _converted(np, value):
    import numpy

    if isinstance(value, numpy.ndarray):
        return np.array(value, dtype=value.dtype)
    return [_converted(np, one) for one in value] if isinstance(value, list) else value


def _parts(result):
    """A flat list of the NumPy arrays in a result."""
    import numpy

    if isinstance(result, (list, tuple)) and any(hasattr(one, "shape") for one in result):
        return [part for one in result for part in _parts(one)]
    return [result.asnumpy() if hasattr(result, "asnumpy") else numpy.asarray(result)]


def _compare(name, one, other, has_nan):
    import numpy

    if one.shape != other.shape:
        raise Finding("wrong value", f"shape {one.shape}, NumPy's is {other.shape}")
    if one.dtype.kind not in "biuf" or other.dtype.kind not in "biuf":
        return
    if one.dtype.kind in "biu" and other.dtype.kind == "f":
        return  # as in MXNet, functions of integers give integers
    if one.dtype.kind in "iub" and other.dtype.kind in "iub":
        if one.dtype.itemsize < other.dtype.itemsize:  # sums keep the dtype, and wrap round
            other = other.astype(one.dtype)
        agrees = one.astype(object) == other.astype(object)
    else:
        is_small = "float32" in (one.dtype, other.dtype)
        narrow = numpy.float32 if is_small else numpy.float64
        with numpy.errstate(all="ignore"):
            one, other = one.astype(narrow), other.astype(narrow)
            agrees = numpy.isclose(one, other, rtol=2e-4 if is_small else 1e-9, atol=1e-5, equal_nan=True)
        if name in INTERPOLATING and not has_nan:
            agrees |= numpy.isnan(other)
    if not numpy.all(agrees):
        raise Finding("wrong value", f"{one.dtype} {one.tolist()}, NumPy has {other.dtype} {other.tolist()}")


def _has_nan(arguments):
    import numpy

    return any(numpy.asarray(one).dtype.kind == "f" and numpy.isnan(one).any() for one in arguments)


def _is_beyond(dtype, arguments, name, keywords):
    """Whether numbers, given or computed, lie beyond the integers asked for: no cast of them is defined."""
    import numpy

    if not name or dtype is None or numpy.dtype(dtype).kind not in "iu":
        return False
    limit = numpy.iinfo(dtype)
    rest = {key: one for key, one in keywords.items() if key != "dtype"}
    values = [*arguments, *rest.values(), *_parts(getattr(numpy, name)(*arguments, **rest))]
    numbers = [numpy.asarray(one) for one in values if not isinstance(one, (list, tuple, str))]
    floats = [one for one in numbers if one.dtype.kind == "f"]
    return not all(((limit.min <= one) & (one < float(limit.max))).all() for one in floats)


def _fits(arguments):
    """Whether bare numbers have the dtypes of the arrays beside them: then they take those, as in MXNet."""
    import numpy

    numbers = [one for one in arguments if isinstance(one, (int, float))]
    arrays = [one.dtype for one in arguments if isinstance(one, numpy.ndarray) and one.dtype.kind in "biu"]
    limits = [numpy.iinfo(dtype) for dtype in arrays if dtype.kind != "b"]
    return not (arrays and numbers) or all(
        isinstance(number, int) and limit.min <= number <= limit.max for number in numbers for limit in limits
    )


ATTACK = Values()
assert all(hasattr(operator, name) for name in EXPRESSIONS)
