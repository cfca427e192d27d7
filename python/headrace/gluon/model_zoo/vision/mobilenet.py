"""MobileNets: depthwise convolutions followed by 1 x 1 convolutions."""

from ...._semantics import is_np_array
from ... import nn
from ...hybrid_block import HybridBlock
from ..model_store import DEFAULT_ROOT, load_pretrained
from .classifier import Classifier

__all__ = [
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "mobilenet0_25",
    "mobilenet0_5",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]


class RELU6(HybridBlock):
    """min(max(x, 0), 6)."""

    def hybrid_forward(self, F, x):
        return F.np.clip(x, 0, 6) if is_np_array() else F.clip(x, 0, 6, name="relu6")


def _add_conv(out, channels, kernel=1, stride=1, groups=1, activation=True, relu6=False):
    """Adds a convolution that keeps the size at stride 1, normalization and an activation to `out`."""
    out.add(
        nn.Conv2D(channels, kernel, stride, padding=kernel // 2, groups=groups, use_bias=False),
        nn.BatchNorm(scale=True),
    )
    if activation:
        out.add(RELU6() if relu6 else nn.Activation("relu"))


class LinearBottleneck(HybridBlock):
    """Widens by the factor `t`, convolves each channel, and narrows to `channels` without activation; at
    stride 1 the input is added when it has as many channels (`in_channels`).
    """

    def __init__(self, in_channels, channels, t, stride, **kwargs):
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        with self.name_scope():
            self.out = nn.HybridSequential()
            _add_conv(self.out, in_channels * t, relu6=True)
            _add_conv(self.out, in_channels * t, 3, stride, groups=in_channels * t, relu6=True)
            _add_conv(self.out, channels, activation=False)

    def hybrid_forward(self, F, x):
        out = self.out(x)
        if not self.use_shortcut:
            return out
        return out + x if is_np_array() else F.elemwise_add(out, x)


class MobileNet(Classifier):
    """MobileNet with `classes` outputs; `multiplier` scales the channels of all layers.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.MobileNet(0.25, classes=10)
    >>> len(list(net.collect_params())) > 10
    True
    """

    # Channels and stride of each depthwise convolution and the 1 x 1 convolution after it.
    _LAYERS = (
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        *[(512, 1)] * 5,
        (1024, 2),
        (1024, 1),
    )

    def __init__(self, multiplier=1.0, classes=1000, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                channels = int(32 * multiplier)
                _add_conv(self.features, channels, 3, 2)
                for wanted, stride in self._LAYERS:
                    _add_conv(self.features, channels, 3, stride, groups=channels)
                    channels = int(wanted * multiplier)
                    _add_conv(self.features, channels)
                self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


class MobileNetV2(Classifier):
    """MobileNet V2 with `classes` outputs; `multiplier` scales the channels of all layers, the last one's
    only when above 1.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.MobileNetV2(0.25, classes=10)
    >>> len(list(net.collect_params())) > 10
    True
    """

    # Widening, channels, number of blocks and stride of the first one.
    _STAGES = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )

    def __init__(self, multiplier=1.0, classes=1000, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                channels = int(32 * multiplier)
                _add_conv(self.features, channels, 3, 2, relu6=True)
                for widening, wanted, blocks, stride in self._STAGES:
                    for number in range(blocks):
                        new = int(wanted * multiplier)
                        self.features.add(LinearBottleneck(channels, new, widening, 1 if number else stride))
                        channels = new
                last = int(1280 * multiplier) if multiplier > 1 else 1280
                _add_conv(self.features, last, relu6=True)
                self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())


def get_mobilenet(multiplier, pretrained=False, ctx=None, root=DEFAULT_ROOT, **kwargs):
    """MobileNet; `kwargs` go to MobileNet.

    FileNotFoundError: `pretrained`, and there is no file of parameters in `root`.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_mobilenet(0.25, classes=10)
    >>> net.initialize()
    >>> net(nd.ones((1, 3, 32, 32))).shape
    (1, 10)
    """
    return load_pretrained(
        MobileNet(multiplier, **kwargs), pretrained, f"mobilenet{float(multiplier)}", ctx, root
    )


def get_mobilenet_v2(multiplier, pretrained=False, ctx=None, root=DEFAULT_ROOT, **kwargs):
    """MobileNet V2; `kwargs` go to MobileNetV2.

    FileNotFoundError: `pretrained`, and there is no file of parameters in `root`.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_mobilenet_v2(0.25, classes=10)
    >>> net.initialize()
    >>> net(nd.ones((1, 3, 32, 32))).shape
    (1, 10)
    """
    return load_pretrained(
        MobileNetV2(multiplier, **kwargs), pretrained, f"mobilenetv2_{float(multiplier)}", ctx, root
    )


def mobilenet1_0(**kwargs):
    """MobileNet; `kwargs` as of get_mobilenet."""
    return get_mobilenet(1.0, **kwargs)


def mobilenet0_75(**kwargs):
    """MobileNet of 0.75 times the channels; `kwargs` as of get_mobilenet."""
    return get_mobilenet(0.75, **kwargs)


def mobilenet0_5(**kwargs):
    """MobileNet of half the channels; `kwargs` as of get_mobilenet."""
    return get_mobilenet(0.5, **kwargs)


def mobilenet0_25(**kwargs):
    """MobileNet of a quarter of the channels; `kwargs` as of get_mobilenet."""
    return get_mobilenet(0.25, **kwargs)


def mobilenet_v2_1_0(**kwargs):
    """MobileNet V2; `kwargs` as of get_mobilenet_v2."""
    return get_mobilenet_v2(1.0, **kwargs)


def mobilenet_v2_0_75(**kwargs):
    """MobileNet V2 of 0.75 times the channels; `kwargs` as of get_mobilenet_v2."""
    return get_mobilenet_v2(0.75, **kwargs)


def mobilenet_v2_0_5(**kwargs):
    """MobileNet V2 of half the channels; `kwargs` as of get_mobilenet_v2."""
    return get_mobilenet_v2(0.5, **kwargs)


def mobilenet_v2_0_25(**kwargs):
    """MobileNet V2 of a quarter of the channels; `kwargs` as of get_mobilenet_v2."""
    return get_mobilenet_v2(0.25, **kwargs)
