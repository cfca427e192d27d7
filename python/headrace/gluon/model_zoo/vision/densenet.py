"""DenseNets: every layer of a stage sees the outputs of all layers before it."""

from ... import nn
from ...contrib.nn import HybridConcurrent, Identity
from ..model_store import DEFAULT_ROOT, load_pretrained
from .classifier import Classifier

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]


def _add_conv(out, channels, kernel):
    """Adds normalization, activation and a convolution that keeps the size."""
    out.add(
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2D(channels, kernel_size=kernel, padding=kernel // 2, use_bias=False),
    )


def _dense_layer(growth_rate, bn_size, dropout):
    """The input followed by `growth_rate` new channels, through `bn_size` times as many."""
    new = nn.HybridSequential(prefix="")
    _add_conv(new, bn_size * growth_rate, 1)
    _add_conv(new, growth_rate, 3)
    if dropout:
        new.add(nn.Dropout(dropout))
    out = HybridConcurrent(axis=1, prefix="")
    out.add(Identity(), new)
    return out


def stage(layers, growth_rate, bn_size, dropout, number):
    out = nn.HybridSequential(prefix=f"stage{number}_")
    with out.name_scope():
        for _ in range(layers):
            out.add(_dense_layer(growth_rate, bn_size, dropout))
    return out


def transition(channels):
    out = nn.HybridSequential(prefix="")
    _add_conv(out, channels, 1)
    out.add(nn.AvgPool2D(pool_size=2, strides=2))
    return out


class DenseNet(Classifier):
    """DenseNet.

    Parameters
    ----------
    num_init_features : channels of the first convolution.
    growth_rate : channels that every layer adds.
    block_config : number of layers in each stage.
    bn_size : channels of the 1 x 1 convolutions, as a multiple of growth_rate.
    dropout : rate of dropout after each layer.
    classes : outputs.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.DenseNet(16, 8, [2, 2, 2, 2], classes=10)
    >>> len(list(net.collect_params())) > 10
    True
    """

    def __init__(
        self, num_init_features, growth_rate, block_config, bn_size=4, dropout=0, classes=1000, **kwargs
    ):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                nn.Conv2D(num_init_features, kernel_size=7, strides=2, padding=3, use_bias=False),
                nn.BatchNorm(),
                nn.Activation("relu"),
                nn.MaxPool2D(pool_size=3, strides=2, padding=1),
            )
            channels = num_init_features
            for number, layers in enumerate(block_config, 1):
                self.features.add(stage(layers, growth_rate, bn_size, dropout, number))
                channels += layers * growth_rate
                if number < len(block_config):
                    channels //= 2
                    self.features.add(transition(channels))
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.AvgPool2D(pool_size=7), nn.Flatten())
            self.output = nn.Dense(classes)


# Number of layers to num_init_features, growth_rate and block_config.
STAGES = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


def get_densenet(num_layers, pretrained=False, ctx=None, root=DEFAULT_ROOT, **kwargs):
    """DenseNet with 121, 161, 169 or 201 layers; `kwargs` go to DenseNet.

    KeyError: another number of layers. FileNotFoundError: `pretrained`, and there is no file of parameters in
    `root`.
    """
    net = DenseNet(*STAGES[num_layers], **kwargs)
    return load_pretrained(net, pretrained, f"densenet{num_layers}", ctx, root)


def densenet121(**kwargs):
    """DenseNet with 121 layers; `kwargs`: pretrained, ctx, root, and what DenseNet takes.

    FileNotFoundError: `pretrained`, and there is no file of parameters in `root`.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.densenet121(classes=10)
    >>> len(net.features), net.output
    (15, Dense(None -> 10, linear))
    """
    return get_densenet(121, **kwargs)


def densenet161(**kwargs):
    """DenseNet with 161 layers; `kwargs` as of densenet121."""
    return get_densenet(161, **kwargs)


def densenet169(**kwargs):
    """DenseNet with 169 layers; `kwargs` as of densenet121."""
    return get_densenet(169, **kwargs)


def densenet201(**kwargs):
    """DenseNet with 201 layers; `kwargs` as of densenet121."""
    return get_densenet(201, **kwargs)
