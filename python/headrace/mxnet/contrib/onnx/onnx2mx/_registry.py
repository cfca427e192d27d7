"""The table of translators, which the modules of `translators` fill.

A translator gets the node to read and returns the symbol of its output, or a list of its outputs' symbols.
"""

TRANSLATORS = {}


def translates(*operators):
    """Enters the decorated function for these operators of ONNX."""

    def enter(function):
        TRANSLATORS.update(dict.fromkeys(operators, function))
        return function

    return enter
