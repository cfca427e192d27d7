"""Functions of np and npx by the names of their operators in MXNet."""

from .. import numpy, numpy_extension

_NAMESPACES = (("_npx_", numpy_extension), ("_np_", numpy))


def _get_builtin_op(op_name):
    """The function of np or npx for an operator `_np_...` or `_npx_...`, None for another name.

    ValueError: there is no such function.
    """
    found = [(space, op_name[len(prefix) :]) for prefix, space in _NAMESPACES if op_name.startswith(prefix)]
    if not found:
        return None
    ((namespace, name),) = found
    for part in ("random", "linalg", "image"):
        if name.startswith(f"_{part}_"):
            namespace, name = getattr(namespace, part), name[len(part) + 2 :]
    function = getattr(namespace, name, None)
    if function is None:
        raise ValueError(f"Cannot find operator {name} in module {namespace.__name__}")
    return function
