"""np functions beside NumPy's of the same name: integers up to the last bit, nan and inf, hostile numbers."""

import operator

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
COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge", "less", "less_equal", "equal", "not_equal", "greater")


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
        case "bool":
            return random.choice(("True", "False"))
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

    name, numbers = _name(function)

    def of(module):
        return getattr(module, name) if function == name else function

    if name in DIFFERENCES or not _is_defined(name, [*arguments, *numbers], keywords):
        return
    try:
        try:
            given = [_converted(np, one) for one in arguments]
            results = _parts(of(np)(*given, **keywords))
        except Exception as error:
            check_error(error)
            return  # refused
        try:
            with numpy.errstate(all="ignore"):
                expected = _parts(of(numpy)(*arguments, **keywords))
                if function == name and _is_beyond(name, arguments, keywords):
                    return
        except Exception:
            return  # taken, and NumPy does not
        if len(results) != len(expected):
            raise Finding("wrong value", f"{len(results)} results, NumPy has {len(expected)}")
        if name == "argsort" and results[0].shape == expected[0].shape == arguments[0].shape:
            results, expected = ([_sorted(arguments[0], one[0], keywords)] for one in (results, expected))
        for one, other in zip(results, expected):
            _compare(name, one, other, _has_nan(arguments))
    except Finding as finding:
        finding.subject = name
        raise


def _name(function):
    """The name of a function, and the numbers that a call of a method has."""
    if isinstance(function, str):
        return function, []
    if isinstance(function, operator.methodcaller):
        name, *numbers = function.__reduce__()[1]
        return name, numbers
    return function.__name__, []


def _sorted(array, order, keywords):
    """The values that an order gives: equal ones may stand in any."""
    import numpy

    axis = keywords.get("axis", -1)
    return array.ravel()[order] if axis is None else numpy.take_along_axis(array, order, axis)


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
        narrow = min(one.dtype, other.dtype, key=lambda dtype: dtype.itemsize if dtype.kind == "f" else 8)
        tolerance = {"float16": 2e-3, "float32": 2e-4}.get(narrow.name, 1e-9)
        with numpy.errstate(all="ignore"):
            one, other = one.astype(narrow), other.astype(narrow)
            agrees = numpy.isclose(one, other, rtol=tolerance, atol=1e-5, equal_nan=True)
        if name in ("var", "std"):  # squares beyond float32 are no harm in float64
            agrees |= numpy.isinf(other)
        if name in INTERPOLATING and not has_nan:
            agrees |= numpy.isnan(other)
    if not numpy.all(agrees):
        raise Finding("wrong value", f"{one.dtype} {one.tolist()}, NumPy has {other.dtype} {other.tolist()}")


def _has_nan(arguments):
    import numpy

    return any(numpy.asarray(one).dtype.kind == "f" and numpy.isnan(one).any() for one in arguments)


def _is_beyond(name, arguments, keywords):
    """Whether numbers, given or computed, lie beyond the integers asked for: no cast of them is defined."""
    import numpy

    dtype = keywords.get("dtype")
    if dtype is None or numpy.dtype(dtype).kind not in "iu":
        return False
    limit = numpy.iinfo(dtype)
    rest = {key: one for key, one in keywords.items() if key != "dtype"}
    values = [*arguments, *rest.values(), *_parts(getattr(numpy, name)(*arguments, **rest))]
    numbers = [numpy.asarray(one) for one in values if not isinstance(one, (list, tuple, str))]
    floats = [one for one in numbers if one.dtype.kind == "f"]
    return not all(((limit.min <= one) & (one < float(limit.max))).all() for one in floats)


def _is_defined(name, arguments, keywords):
    """Whether NumPy's result is one for all its versions, and one that np means to have (differences.md)."""
    import numpy

    integral = numpy.dtype(keywords.get("dtype") or "float64").kind in "iub"
    given = [*arguments, *keywords.values()]
    given += [number for one in given if isinstance(one, (tuple, list)) for number in one]
    numbers = [one for one in given if isinstance(one, (int, float)) and not isinstance(one, bool)]
    dtypes = {one.dtype for one in arguments if isinstance(one, numpy.ndarray)}
    if name == "arange":  # a step that is lost beside the start, or in integers
        return all(numpy.isfinite(one) and float(one).is_integer() for one in numbers)
    if name == "unique" and keywords.get("return_inverse"):  # whose shape depends on NumPy's version
        return False
    if name == "full_like" and not dtypes:
        return False
    if name == "reciprocal" and any(one.kind in "iu" for one in dtypes):  # of 0
        return False
    if name in ("linspace", "logspace", "geomspace", "var", "std", "mean"):  # in integers, or of nan
        return not integral and not any(numpy.isnan(one) for one in numbers)
    if name == "reshape" and any(one is None for one in arguments):  # None stands for the default
        return False
    if name in ("around", "round"):  # a multiple of ten that the dtype does not have
        return not any(one < 0 for one in numbers)
    if name in ("dot", "inner", "vdot", "outer", "tensordot") and _has_nan(arguments):
        return False  # BLAS leaves out what is multiplied by 0
    if name in ("sum", "prod", "cumsum", "nansum", "nanprod") and integral:
        # NumPy casts each element, MXNet the result.
        return keywords["dtype"] != "bool" and bool(dtypes) and all(one.kind != "f" for one in dtypes)
    if name == "left_shift" and all(one.kind == "b" for one in dtypes):
        return False
    if (
        name in ("fmod", "mod", "remainder", "floor_divide", "floordiv", "polyval")
        and numpy.dtype("float32") in dtypes
    ):
        return all(one.kind == "f" for one in dtypes)  # NumPy's rule of promotion is another
    if name in COMPARISONS and numpy.dtype("uint64") in dtypes and any(one.kind == "i" for one in dtypes):
        return False
    if name != "full" and any(isinstance(one, int) and abs(one) >= 2**53 for one in numbers):
        return False  # numbers are doubles on their way
    # Numbers beside arrays take their dtype.
    limits = [numpy.iinfo(one) for one in dtypes if one.kind in "iu"]
    ends = [(one.min, one.max) for one in limits] + [(0, 1)] * any(one.kind == "b" for one in dtypes)
    return all(isinstance(one, int) and low <= one <= high for one in numbers for low, high in ends)


ATTACK = Values()
assert all(hasattr(operator, name) for name in EXPRESSIONS)
