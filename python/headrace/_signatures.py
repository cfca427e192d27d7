"""Signatures of operator functions, parsed from the text that the catalogue derives."""

import inspect
import textwrap


def parse(text):
    """The inspect.Signature of ``text``, which reads like a parameter list: ``(data, axis=None, *rest)``."""
    scope = {}
    exec(textwrap.dedent(f"def function{text}: pass"), scope)
    return inspect.signature(scope["function"])
