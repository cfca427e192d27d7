"""Inception V3: convolutions of several shapes side by side."""

from ... import nn
from ...contrib.nn import HybridConcurrent
from ..model_store import DEFAULT_ROOT, load_pretrained
from .classifier import Classifier

__all__ = ["Inception3", "inception_v3"]

# Steps of a branch are poolings or convolutions: (channels, kernel, stride, padding).
_AVG = nn.AvgPool2D, {"pool_size": 3, "strides": 1, "padding": 1}
_MAX = nn.MaxPool2D, {"pool_size": 3, "strides": 2}


def _conv(channels, kernel=1, stride=1, padding=0):
    out = nn.HybridSequential(prefix="")
    out.add(
        nn.Conv2D(channels, kernel, stride, padding, use_bias=False),
        nn.BatchNorm(epsilon=0.001),
        nn.Activation("relu"),
    )
    return out


def _branch(steps):
    """The steps one after another; a list among them is branches side by side."""
    out = nn.HybridSequential(prefix="")
    if isinstance(steps[-1], list):
        out.add(_branch(steps[:-1]), _side_by_side(steps[-1], ""))
        return out
    for step in steps:
        if isinstance(step[0], type):
            out.add(step[0](**step[1]))
        else:
            out.add(_conv(*step))
    return out


def _side_by_side(branches, prefix):
    out = HybridConcurrent(axis=1, prefix=prefix)
    with out.name_scope():
        for steps in branches:
            out.add(_branch(steps))
    return out


def _module_a(pool_channels):
    return [
        [(64,)],
        [(48,), (64, 5, 1, 2)],
        [(64,), (96, 3, 1, 1), (96, 3, 1, 1)],
        [_AVG, (pool_channels,)],
    ]


def _module_b():
    return [[(384, 3, 2)], [(64,), (96, 3, 1, 1), (96, 3, 2)], [_MAX]]


def _module_c(channels):
    wide, tall = (channels, (1, 7), 1, (0, 3)), (channels, (7, 1), 1, (3, 0))
    return [
        [(192,)],
        [(channels,), wide, (192, (7, 1), 1, (3, 0))],
        [(channels,), tall, wide, tall, (192, (1, 7), 1, (0, 3))],
        [_AVG, (192,)],
    ]


def _module_d():
    return [
        [(192,), (320, 3, 2)],
        [(192,), (192, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0)), (192, 3, 2)],
        [_MAX],
    ]


def _module_e():
    ends = [[(384, (1, 3), 1, (0, 1))], [(384, (3, 1), 1, (1, 0))]]
    return [[(320,)], [(384,), ends], [(448,), (384, 3, 1, 1), ends], [_AVG, (192,)]]


class Inception3(Classifier):
    """Inception V3 for images of 299 x 299, with `classes` outputs.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.Inception3(classes=10)
    >>> len(list(net.collect_params())) > 10
    True
    """

    def __init__(self, classes=1000, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                _conv(32, 3, 2),
                _conv(32, 3),
                _conv(64, 3, 1, 1),
                nn.MaxPool2D(3, 2),
                _conv(80),
                _conv(192, 3),
                nn.MaxPool2D(3, 2),
            )
            modules = {f"A{n}_": _module_a(channels) for n, channels in enumerate((32, 64, 64), 1)}
            modules["B_"] = _module_b()
            modules |= {f"C{n}_": _module_c(channels) for n, channels in enumerate((128, 160, 160, 192), 1)}
            modules["D_"] = _module_d()
            modules |= {f"E{n}_": _module_e() for n in (1, 2)}
            for prefix, branches in modules.items():
                self.features.add(_side_by_side(branches, prefix))
            self.features.add(nn.AvgPool2D(pool_size=8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


def inception_v3(pretrained=False, ctx=None, root=DEFAULT_ROOT, **kwargs):
    """Inception V3; `kwargs` go to Inception3.

    FileNotFoundError: `pretrained`, and there is no file of parameters in `root`.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.inception_v3(classes=10)
    >>> len(net.features), net.output
    (20, Dense(None -> 10, linear))
    """
    return load_pretrained(Inception3(**kwargs), pretrained, "inceptionv3", ctx, root)
