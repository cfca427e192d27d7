"""What may change in an optimizer while it is used: workers tell it to servers, and compare it."""

import warnings

__all__ = ["PLAIN", "described", "difference", "settings_of", "take_numbers", "use_settings"]

_COUNTERS = ("num_update", "begin_num_update", "aggregate_num", "allow_np_array")  # of who updates
PLAIN = (bool, int, float, str, type(None))  # types of values that are sent as they are


def settings_of(optimizer):
    """What may change in an optimizer while it is used, in types of JSON: numbers, texts, and the factors on
    learning rate and weight decay by index or name, as lists of pairs.
    """
    plain = {
        name: value
        for name, value in vars(optimizer).items()
        if isinstance(value, PLAIN) and not name.startswith("_") and name not in _COUNTERS
    }
    factors = {
        name: sorted(
            {
                **getattr(optimizer, name),
                **{index: getattr(param, name) for index, param in optimizer.param_dict.items()},
            }.items(),
            key=str,
        )
        for name in ("lr_mult", "wd_mult")
    }
    return {"plain": plain, **{name: [list(pair) for pair in pairs] for name, pairs in factors.items()}}


def use_settings(optimizer, settings, before=None):
    """Sets in `optimizer` what `settings_of` another one gave; of an optimizer that computes, and has numbers
    of its own among its attributes, what is not as it was in the settings `before`.
    """
    known = before["plain"] if before else {}
    for name, value in settings["plain"].items():
        if name in known and known[name] == value:
            continue
        if not hasattr(optimizer, name):
            warnings.warn(f"the optimizer of the servers has no {name}", stacklevel=2)
        setattr(optimizer, name, value)
    for name in ("lr_mult", "wd_mult"):
        setattr(optimizer, name, dict(settings[name]))


def take_numbers(optimizer, other):
    """Sets in `optimizer` the settings of another one of its class, and what that one keeps for itself; how
    gradients are scaled follows from the step.
    """
    plain = {
        name: value
        for name, value in vars(other).items()
        if isinstance(value, PLAIN) and name not in (*_COUNTERS, "rescale_grad")
    }
    use_settings(optimizer, {**settings_of(other), "plain": plain})


def described(optimizer):
    """(name of the class, settings) by which workers compare what they have given; how gradients are scaled
    follows from the step.
    """
    settings = settings_of(optimizer)
    settings["plain"].pop("rescale_grad", None)
    return type(optimizer).__name__, settings


def difference(own, other):
    """What `other` is, as `described`, in contrast to `own`, which differs."""
    if own[0] != other[0]:
        return other[0]
    plain, others = own[1]["plain"], other[1]["plain"]
    names = [name for name in plain if plain[name] != others.get(name)]
    if not names:
        return "one with other factors of parameters"
    return "one with " + ", ".join(
        f"{name} {others.get(name)!r} in place of {plain[name]!r}" for name in names
    )
