"""What `F.npx` is in a traced np block: npx operators on symbols."""

from . import calls

globals().update(calls.functions("npx", True))
__all__ = sorted(calls.functions("npx", True))
