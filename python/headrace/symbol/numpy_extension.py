"""What `F.npx` is in a traced np block: npx operators on symbols."""

from . import calls
from . import numpy_extension_random as random

image = calls.namespace("npx.image", True)
globals().update(calls.functions("npx", True))
__all__ = [*sorted(calls.functions("npx", True)), "image", "random"]
