"""SqueezeNet: 1 x 1 convolutions that narrow, then 1 x 1 and 3 x 3 ones side by side."""

from ... import nn
from ...contrib.nn import HybridConcurrent
from ..model_store import DEFAULT_ROOT, load_pretrained
from .classifier import Classifier

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]


def _conv(channels, kernel, padding=0):
    out = nn.HybridSequential(prefix="")
    out.add(nn.Conv2D(channels, kernel, padding=padding), nn.Activation("relu"))
    return out


def _fire(squeezed, expanded):
    """`squeezed` channels, then `expanded` from 1 x 1 and as many from 3 x 3 convolutions."""
    out = nn.HybridSequential(prefix="")
    out.add(_conv(squeezed, 1))
    side_by_side = HybridConcurrent(axis=1, prefix="")
    side_by_side.add(_conv(expanded, 1), _conv(expanded, 3, 1))
    out.add(side_by_side)
    return out


# Version to channels and size of the first kernel, and the places of poolings among the fire modules.
_VERSIONS = {"1.0": (96, 7, (0, 3, 7)), "1.1": (64, 3, (0, 2, 4))}
_SQUEEZED = (16, 16, 32, 32, 48, 48, 64, 64)  # each fire module expands to four times as many, twice


class SqueezeNet(Classifier):
    """SqueezeNet of `version` '1.0' or '1.1' with `classes` outputs. AssertionError: another version.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.SqueezeNet("1.1", classes=10)
    >>> len(list(net.collect_params())) > 10
    True
    """

    def __init__(self, version, classes=1000, **kwargs):
        super().__init__(**kwargs)
        assert version in _VERSIONS, f"Unsupported SqueezeNet version {version}:1.0 or 1.1 expected"
        channels, kernel, poolings = _VERSIONS[version]
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(channels, kernel, strides=2), nn.Activation("relu"))
            for place, squeezed in enumerate(_SQUEEZED):
                if place in poolings:
                    self.features.add(nn.MaxPool2D(3, 2, ceil_mode=True))
                self.features.add(_fire(squeezed, 4 * squeezed))
            self.features.add(nn.Dropout(0.5))
            self.output = nn.HybridSequential(prefix="")
            self.output.add(
                nn.Conv2D(classes, kernel_size=1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten()
            )


def get_squeezenet(version, pretrained=False, ctx=None, root=DEFAULT_ROOT, **kwargs):
    """SqueezeNet '1.0' or '1.1'; `kwargs` go to SqueezeNet.

    FileNotFoundError: `pretrained`, and there is no file of parameters in `root`.
    """
    return load_pretrained(SqueezeNet(version, **kwargs), pretrained, f"squeezenet{version}", ctx, root)


def squeezenet1_0(**kwargs):
    """SqueezeNet 1.0; `kwargs`: pretrained, ctx, root, and what SqueezeNet takes.

    FileNotFoundError: `pretrained`, and there is no file of parameters in `root`.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.squeezenet1_0(classes=10)
    >>> len(net.features), net.output[0]
    (14, Conv2D(None -> 10, kernel_size=(1, 1), stride=(1, 1)))
    """
    return get_squeezenet("1.0", **kwargs)


def squeezenet1_1(**kwargs):
    """SqueezeNet 1.1; `kwargs` as of squeezenet1_0."""
    return get_squeezenet("1.1", **kwargs)
