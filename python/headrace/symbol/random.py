"""`sym.random`: distributions whose parameters are numbers, or symbols for a set of parameters each."""

from . import calls

globals().update(calls.functions("nd.random", False))


def _sample(name, parameters, shape, dtype, kwargs):
    """A symbol of a distribution; AssertionError: numbers and symbols are mixed."""
    values = list(parameters.values())
    of_symbols = calls.is_symbol(values[0])
    for value in values:
        assert calls.is_symbol(value) == of_symbols and (of_symbols or calls.is_number(value)), (
            "Distribution parameters must all have the same type, but got both "
            f"{type(values[0])} and {type(value)}"
        )
    given = {key: value for key, value in (("shape", shape), ("dtype", dtype)) if value is not None}
    kwargs.pop("ctx", None)
    if of_symbols:
        return calls.function("_sample_" + name)(*values, **given, **kwargs)
    return calls.function("_random_" + name)(**parameters, **given, **kwargs)


def uniform(low=0, high=1, shape=None, dtype=None, **kwargs):
    """Samples of the uniform distribution on [low, high)."""
    return _sample("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(loc=0, scale=1, shape=None, dtype=None, **kwargs):
    """Samples of the normal distribution."""
    return _sample("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


def randn(*shape, loc=0, scale=1, dtype=None, **kwargs):
    """Samples of the normal distribution; the extents are positional."""
    return normal(loc, scale, shape, dtype, **kwargs)


def exponential(scale=1, shape=None, dtype=None, **kwargs):
    """Samples of the exponential distribution with the mean `scale`."""
    return _sample("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def gamma(alpha=1, beta=1, shape=None, dtype=None, **kwargs):
    """Samples of the gamma distribution with shape `alpha` and scale `beta`."""
    return _sample("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def poisson(lam=1, shape=None, dtype=None, **kwargs):
    """Samples of the Poisson distribution."""
    return _sample("poisson", {"lam": lam}, shape, dtype, kwargs)


def negative_binomial(k=1, p=1, shape=None, dtype=None, **kwargs):
    """How often something of probability 1 - `p` happens before `k` others."""
    return _sample("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(mu=1, alpha=1, shape=None, dtype=None, **kwargs):
    """Samples of the negative binomial distribution with mean `mu` and dispersion `alpha`."""
    return _sample("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def randint(low, high, shape=None, dtype=None, **kwargs):
    """Integers from [low, high). AssertionError: no numbers."""
    assert calls.is_number(low) and calls.is_number(high), "randint: low and high must be numbers"
    return _sample("randint", {"low": low, "high": high}, shape, dtype, kwargs)


def multinomial(data, shape=None, get_prob=True, dtype="int32", **kwargs):
    """Draws classes from rows of probabilities: a symbol of them and, with `get_prob`, of the logarithms of
    their probabilities, through which gradients go.
    """
    given = {} if shape is None else {"shape": shape}
    return calls.function("_sample_multinomial")(data, get_prob=get_prob, dtype=dtype, **given, **kwargs)


def shuffle(data, **kwargs):
    """A symbol of the same rows in random order."""
    return calls.function("_shuffle")(data, **kwargs)


__all__ = sorted(
    {
        *calls.functions("nd.random", False),
        *("uniform", "normal", "randn", "exponential", "gamma", "poisson", "negative_binomial"),
        *("generalized_negative_binomial", "randint"),
    }
)
