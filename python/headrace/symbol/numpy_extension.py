"""What `F.npx` is in a traced np block: npx operators on symbols."""

from ..numpy_extension import random as _random
from . import calls

image = calls.namespace("npx.image")
random = calls.composed_namespace(_random, "npx.random")
globals().update(calls.functions("npx"))
__all__ = [*sorted(calls.functions("npx")), "image", "random"]
