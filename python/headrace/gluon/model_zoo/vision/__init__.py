"""Networks for images, with MXNet's structures and parameter names: `get_model('resnet18_v1')`."""

from . import alexnet as _alexnet
from . import densenet as _densenet
from . import inception as _inception
from . import mobilenet as _mobilenet
from . import resnet as _resnet
from . import squeezenet as _squeezenet
from . import vgg as _vgg
from .alexnet import *  # noqa: F403
from .densenet import *  # noqa: F403
from .inception import *  # noqa: F403
from .mobilenet import *  # noqa: F403
from .resnet import *  # noqa: F403
from .squeezenet import *  # noqa: F403
from .vgg import *  # noqa: F403

_MODULES = (_alexnet, _densenet, _inception, _mobilenet, _resnet, _squeezenet, _vgg)

__all__ = ["get_model", *(name for module in _MODULES for name in module.__all__)]


# Beginnings of functions and of the names of their networks: mobilenet_v2_0_5 makes mobilenetv2_0.5.
_FAMILIES = {
    "mobilenet_v2_": "mobilenetv2_",
    "mobilenet": "mobilenet",
    "squeezenet": "squeezenet",
    "inception_v": "inceptionv",
}


def _model_name(function_name):
    for start, family in _FAMILIES.items():
        if function_name.startswith(start):
            return family + function_name.removeprefix(start).replace("_", ".")
    return function_name


_MODELS = {
    _model_name(name): getattr(module, name)
    for module in _MODULES
    for name in module.__all__
    if name.islower() and not name.startswith("get_")
}


def get_model(name, **kwargs):
    """The network called `name` (letter case does not matter); `kwargs` go to its function.

    `pretrained=True` reads parameters from the folder `root`, `ctx` says where they go, `classes` is the
    number of outputs. ValueError: no network of that name. FileNotFoundError: no file of parameters.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_model("MobileNet0.25", classes=10)
    >>> net.initialize()
    >>> net(nd.ones((1, 3, 32, 32))).shape
    (1, 10)
    """
    make = _MODELS.get(name.lower())
    if make is None:
        options = "\n\t".join(sorted(_MODELS))
        raise ValueError(f"Model {name} is not supported. Available options are\n\t{options}")
    return make(**kwargs)
