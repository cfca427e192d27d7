"""``npx.random`` on symbols: samples for batches of parameters."""

from .numpy_random import sample

__all__ = ["bernoulli", "normal_n", "uniform_n"]


def bernoulli(prob=None, logit=None, size=None, dtype=None, ctx=None, out=None):
    """Zeros and ones, ones with probability ``prob`` or ``sigmoid(logit)``; float32 unless ``dtype`` says
    otherwise.

    Raises
    ------
    ValueError
        Unless exactly one of ``prob`` and ``logit`` is given.
    """
    if (prob is None) == (logit is None):
        raise ValueError("random.bernoulli: give either prob or logit")
    parameters = {"prob": prob, "logit": logit}
    return sample("bernoulli", parameters, size, dtype or "float32", ctx, is_logit=prob is None)


def uniform_n(low=0.0, high=1.0, batch_shape=None, dtype=None, ctx=None):
    """Uniform samples of shape ``batch_shape`` followed by the shape that the parameters broadcast to."""
    return sample("uniform_n", {"low": low, "high": high}, batch_shape, dtype or "float32", ctx)


def normal_n(loc=0.0, scale=1.0, batch_shape=None, dtype=None, ctx=None):
    """Normal samples of shape ``batch_shape`` followed by the shape that the parameters broadcast to."""
    return sample("normal_n", {"loc": loc, "scale": scale}, batch_shape, dtype or "float32", ctx)
