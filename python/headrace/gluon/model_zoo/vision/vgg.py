"""VGG networks: 3 x 3 convolutions and three dense layers."""

from .... import initializer
from ... import nn
from ..model_store import DEFAULT_ROOT, load_pretrained
from .classifier import Classifier

__all__ = [
    "VGG",
    "get_vgg",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]


class VGG(Classifier):
    """VGG network.

    Parameters
    ----------
    layers : number of convolutions before each pooling.
    filters : their channels. AssertionError: not as many as layers.
    classes : outputs.
    batch_norm : normalizes after each convolution.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.VGG([1, 1], [4, 8], classes=10)
    >>> net.initialize()
    >>> net(nd.ones((1, 3, 32, 32))).shape
    (1, 10)
    """

    def __init__(self, layers, filters, classes=1000, batch_norm=False, **kwargs):
        super().__init__(**kwargs)
        assert len(layers) == len(filters), f"expected as many layers as filters, got {layers} and {filters}"
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            for convolutions, channels in zip(layers, filters):
                for _ in range(convolutions):
                    self._add_convolution(channels, batch_norm)
                self.features.add(nn.MaxPool2D(strides=2))
            for _ in range(2):
                self.features.add(
                    nn.Dense(4096, activation="relu", weight_initializer="normal"), nn.Dropout(rate=0.5)
                )
            self.output = nn.Dense(classes, weight_initializer="normal")

    def _add_convolution(self, channels, batch_norm):
        init = initializer.Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
        self.features.add(nn.Conv2D(channels, kernel_size=3, padding=1, weight_initializer=init))
        if batch_norm:
            self.features.add(nn.BatchNorm())
        self.features.add(nn.Activation("relu"))


# Number of layers with weights to the number of convolutions before each pooling.
CONVOLUTIONS = {
    11: [1, 1, 2, 2, 2],
    13: [2, 2, 2, 2, 2],
    16: [2, 2, 3, 3, 3],
    19: [2, 2, 4, 4, 4],
}
CHANNELS = [64, 128, 256, 512, 512]


def get_vgg(num_layers, pretrained=False, ctx=None, root=DEFAULT_ROOT, **kwargs):
    """VGG with 11, 13, 16 or 19 layers; `kwargs` go to VGG.

    KeyError: another number of layers. FileNotFoundError: `pretrained`, and there is no file of parameters in
    `root`.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_vgg(11, classes=10)
    >>> sum(isinstance(layer, nn.Conv2D) for layer in net.features), net.output
    (8, Dense(None -> 10, linear))
    """
    net = VGG(CONVOLUTIONS[num_layers], CHANNELS, **kwargs)
    name = f"vgg{num_layers}" + ("_bn" if kwargs.get("batch_norm") else "")
    return load_pretrained(net, pretrained, name, ctx, root)


def vgg11(**kwargs):
    """VGG with 11 layers; `kwargs` as of get_vgg."""
    return get_vgg(11, **kwargs)


def vgg13(**kwargs):
    """VGG with 13 layers; `kwargs` as of get_vgg."""
    return get_vgg(13, **kwargs)


def vgg16(**kwargs):
    """VGG with 16 layers; `kwargs` as of get_vgg."""
    return get_vgg(16, **kwargs)


def vgg19(**kwargs):
    """VGG with 19 layers; `kwargs` as of get_vgg."""
    return get_vgg(19, **kwargs)


def vgg11_bn(**kwargs):
    """VGG with 11 layers and batch normalization; `kwargs` as of get_vgg."""
    return get_vgg(11, **{**kwargs, "batch_norm": True})


def vgg13_bn(**kwargs):
    """VGG with 13 layers and batch normalization; `kwargs` as of get_vgg."""
    return get_vgg(13, **{**kwargs, "batch_norm": True})


def vgg16_bn(**kwargs):
    """VGG with 16 layers and batch normalization; `kwargs` as of get_vgg."""
    return get_vgg(16, **{**kwargs, "batch_norm": True})


def vgg19_bn(**kwargs):
    """VGG with 19 layers and batch normalization; `kwargs` as of get_vgg."""
    return get_vgg(19, **{**kwargs, "batch_norm": True})
