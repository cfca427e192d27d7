"""Random numbers: seeding, the choice of generator, and the samples of ``nd.random``."""

from ._generator import *  # noqa: F403
from ._generator import __all__ as _generator
from .ndarray.random import *  # noqa: F403
from .ndarray.random import __all__ as _samples

__all__ = [*_generator, *_samples]
