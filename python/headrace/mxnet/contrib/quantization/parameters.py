"""Parameters of quantized networks."""

import numpy as np

from ....ndarray import array, contrib, load
from ....symbol import Symbol
from ....symbol import load as load_symbol

__all__ = ["_load_params", "_load_sym", "_quantize_params"]

_SUFFIX = "_quantize"


def _quantize_params(qsym, params, th_dict):
    """The parameters of a quantized symbol, from those of the symbol that it was made of.

    NAME_quantize is the int8 form of NAME, NAME_quantize_min and NAME_quantize_max are the ends of its range;
    other parameters stay. ValueError: one has elements that are not finite; KeyError: one is missing.
    """
    attributes = qsym.attr_dict()
    made = {}
    for name in qsym.list_arguments():
        if name in params:
            made[name] = params[name]
            continue
        original, is_quantized = name.removesuffix(_SUFFIX), name.endswith(_SUFFIX)
        if is_quantized and original in params:
            by_rows = attributes.get(name, {}).get("__ranges__") == "rows"
            parts = _quantized(original, params[original], by_rows)
            made.update(zip((name, f"{name}_min", f"{name}_max"), parts))
        for end, suffix in enumerate(("_min", "_max")):
            if name.endswith(suffix) and name.removesuffix(suffix) in th_dict:
                made[name] = array(np.reshape(th_dict[name.removesuffix(suffix)][end], 1))
    return made


def _quantized(name, parameter, by_rows):
    """A parameter as int8, and the two ends of its range, or of each of its rows' ranges."""
    values = parameter.asnumpy().astype(np.float32, copy=False)
    if not np.isfinite(values).all():
        raise ValueError(
            f"the parameter {name} has elements that are nan or infinite; it cannot be quantized"
        )
    if not by_rows:
        ends = [array(np.array([end], "float32")) for end in (values.min(), values.max())]
        return contrib.quantize(array(values), *ends, out_type="int8")
    largest = np.abs(values.reshape(len(values), -1)).max(axis=1)
    scale = 127 / np.where(largest == 0, 1, largest)
    rounded = np.rint(values * scale.reshape(-1, *[1] * (values.ndim - 1)))
    return array(rounded, dtype="int8"), array(-largest), array(largest)


def _load_sym(sym, logger=None):
    """A symbol, or the one in the file of that name. ValueError: neither."""
    if isinstance(sym, Symbol):
        return sym
    if not isinstance(sym, str):
        raise ValueError(
            f"_load_sym only accepts Symbol or path to the symbol file, while received type {type(sym)}"
        )
    if logger:
        logger.info("Loading symbol from file %s", sym)
    return load_symbol(sym)


def _load_params(params, logger=None):
    """(arguments, auxiliary states): a pair of dictionaries, or those in the file of that name.

    ValueError: neither.
    """
    if isinstance(params, (tuple, list)) and len(params) == 2:
        return tuple(params)
    if not isinstance(params, str):
        raise ValueError(
            "Unsupported params provided. Must be either a path to the param file or a pair of dictionaries "
            "representing arg_params and aux_params"
        )
    if logger:
        logger.info("Loading params from file %s", params)
    kinds = {"arg": {}, "aux": {}}
    for key, value in load(params).items():
        kind, _, name = key.partition(":")
        if kind in kinds:
            kinds[kind][name] = value
    return kinds["arg"], kinds["aux"]
