"""The table of translators, which the modules of `translators` fill.

A translator gets the graph that is being written and the node to write, and returns the name of the node's
output, or the names of its outputs.
"""

TRANSLATORS = {}


def translates(*operators):
    """Enters the decorated function for these operators."""

    def enter(function):
        TRANSLATORS.update(dict.fromkeys(operators, function))
        return function

    return enter
