"""AlexNet."""

from ... import nn
from ..model_store import DEFAULT_ROOT, load_pretrained
from .classifier import Classifier

__all__ = ["AlexNet", "alexnet"]


class AlexNet(Classifier):
    """AlexNet in its version for one device, with `classes` outputs.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.AlexNet(classes=10)
    >>> sum(isinstance(layer, nn.Conv2D) for layer in net.features), net.output
    (5, Dense(None -> 10, linear))
    """

    def __init__(self, classes=1000, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                self.features.add(
                    nn.Conv2D(64, kernel_size=11, strides=4, padding=2, activation="relu"),
                    nn.MaxPool2D(3, 2),
                    nn.Conv2D(192, kernel_size=5, padding=2, activation="relu"),
                    nn.MaxPool2D(3, 2),
                    nn.Conv2D(384, kernel_size=3, padding=1, activation="relu"),
                    nn.Conv2D(256, kernel_size=3, padding=1, activation="relu"),
                    nn.Conv2D(256, kernel_size=3, padding=1, activation="relu"),
                    nn.MaxPool2D(3, 2),
                    nn.Flatten(),
                    nn.Dense(4096, activation="relu"),
                    nn.Dropout(0.5),
                    nn.Dense(4096, activation="relu"),
                    nn.Dropout(0.5),
                )
            self.output = nn.Dense(classes)


def alexnet(pretrained=False, ctx=None, root=DEFAULT_ROOT, **kwargs):
    """AlexNet; `kwargs` go to AlexNet.

    FileNotFoundError: `pretrained`, and there is no file of parameters in `root`.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.alexnet(classes=10)
    >>> len(net.features), net.output
    (13, Dense(None -> 10, linear))
    """
    return load_pretrained(AlexNet(**kwargs), pretrained, "alexnet", ctx, root)
