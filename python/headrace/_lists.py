"""Arguments that may be one thing or several."""


def as_list(value):
    """A new list of what a list or tuple has, or of `value` alone."""
    return list(value) if isinstance(value, (list, tuple)) else [value]
