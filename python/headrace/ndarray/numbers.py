"""nd functions of two numbers: Python's operators, which give a number at once."""

import operator

_OF_NUMBERS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "true_divide": operator.truediv,
    "modulo": operator.mod,
    "power": operator.pow,
    "maximum": lambda lhs, rhs: lhs if lhs > rhs else rhs,
    "minimum": lambda lhs, rhs: lhs if lhs < rhs else rhs,
    "equal": lambda lhs, rhs: int(lhs == rhs),
    "not_equal": lambda lhs, rhs: int(lhs != rhs),
    "greater": lambda lhs, rhs: int(lhs > rhs),
    "greater_equal": lambda lhs, rhs: int(lhs >= rhs),
    "lesser": lambda lhs, rhs: int(lhs < rhs),
    "lesser_equal": lambda lhs, rhs: int(lhs <= rhs),
    "logical_and": lambda lhs, rhs: int(bool(lhs) and bool(rhs)),
    "logical_or": lambda lhs, rhs: int(bool(lhs) or bool(rhs)),
    "logical_xor": lambda lhs, rhs: int(bool(lhs) != bool(rhs)),
}


def give_numbers(operators):
    """Lets these functions, by their names, leave calls with two numbers to Python."""
    for name, of_numbers in _OF_NUMBERS.items():
        operators[name].of_numbers = of_numbers
