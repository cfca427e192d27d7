"""Functions of MXNet's `module.base_module` that modules of programs take from there."""

from .._lists import as_list
from ..module.base_module import check_descriptions
from ..module.module import check_names

__all__: list[str] = []

_as_list = as_list


def _check_input_names(symbol, names, typename, throw):
    """ValueError, or a UserWarning unless `throw`: a name is no argument of the symbol."""
    check_names(symbol, names, f"{typename}_names", throw)


def _parse_data_desc(data_names, label_names, data_shapes, label_shapes):
    """Lists of DataDesc for data and labels (None: there are none). ValueError: the data has other names."""
    return check_descriptions(data_names, label_names, data_shapes, label_shapes)
