"""The cells under the name of MXNet's module, with the helpers that programs take from it."""

from . import *  # noqa: F403
from . import __all__  # noqa: F401
from .sequences import begin_state_of as _get_begin_state  # noqa: F401
from .sequences import format_sequence as _format_sequence  # noqa: F401
from .sequences import mask_sequence as _mask_sequence_variable_length  # noqa: F401
from .sequences import reverse_steps as _reverse_sequences  # noqa: F401
from .stacked_cells import cells_begin_state as _cells_begin_state  # noqa: F401
from .stacked_cells import cells_state_info as _cells_state_info  # noqa: F401
