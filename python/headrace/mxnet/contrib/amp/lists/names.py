"""Names of operators, for the lists of both dtypes."""

import functools

from ....._catalogue import operator_descriptions

__all__ = ["canonical", "others", "with_aliases"]

_NUMPY = ("_np_", "_npi_", "_npx_")  # np functions are not cast
_CASTS = ("amp_cast", "amp_multicast")


@functools.cache
def _aliases():
    """Every name of an operator to its first one."""
    known = {}
    for name, description in operator_descriptions().items():
        known[name] = name
        known.update(dict.fromkeys(description["aliases"], name))
    return known


def canonical(name):
    """The name of an operator that symbols have, for any of its names; unknown ones stay."""
    return _aliases().get(name, name)


def with_aliases(names):
    """The names with all others that mean the same operators."""
    found = {}
    for name in names:
        first = canonical(name)
        aliases = operator_descriptions()[first]["aliases"] if first in operator_descriptions() else ()
        found.update(dict.fromkeys((name, first, *aliases)))
    return [name for name in found if not name.startswith(_NUMPY)]


def others(*lists):
    """The names of all operators of nd that are in none of the lists, and change none of their inputs."""
    known = {canonical(name) for names in lists for name in names}
    rest = [
        name
        for name, description in operator_descriptions().items()
        if name not in known
        and name not in _CASTS
        and not description["mutates"]
        and any(path.startswith("nd.") for path in description["python"])
    ]
    return with_aliases(rest)
