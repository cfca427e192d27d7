"""Residual networks: V1 normalizes after each convolution, V2 before it."""

from ...._semantics import is_np_array
from ... import nn
from ...hybrid_block import HybridBlock
from ..model_store import DEFAULT_ROOT, load_pretrained
from .classifier import Classifier

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
]


def _conv3x3(channels, stride, in_channels):
    return nn.Conv2D(
        channels, kernel_size=3, strides=stride, padding=1, use_bias=False, in_channels=in_channels
    )


def _conv1x1(channels, stride=1, in_channels=0, use_bias=False):
    return nn.Conv2D(channels, kernel_size=1, strides=stride, use_bias=use_bias, in_channels=in_channels)


def _relu(F, x):
    return F.npx.activation(x, act_type="relu") if is_np_array() else F.Activation(x, act_type="relu")


class _BlockV1(HybridBlock):
    """What residual blocks of version 1 share: relu(body(x) + x), the latter through `downsample` if given.

    Parameters
    ----------
    channels : channels of the output.
    stride : stride of one of the convolutions.
    downsample : adds a 1 x 1 convolution to the way around the body.
    in_channels : channels of the input; 0 takes them from the first input.
    """

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self._add_body(channels, stride, in_channels)
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(_conv1x1(channels, stride, in_channels), nn.BatchNorm())
        else:
            self.downsample = None

    def _ways(self, x):
        return self.body(x), x if self.downsample is None else self.downsample(x)


class BasicBlockV1(_BlockV1):
    """Two 3 x 3 convolutions and the way around them, for ResNet V1 with 18 and 34 layers.

    Examples
    --------
    >>> block = gluon.model_zoo.vision.BasicBlockV1(8, stride=2, downsample=True)
    >>> block.initialize()
    >>> block(nd.ones((1, 4, 8, 8))).shape
    (1, 8, 4, 4)
    """

    def _add_body(self, channels, stride, in_channels):
        self.body.add(
            _conv3x3(channels, stride, in_channels),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels, 1, channels),
            nn.BatchNorm(),
        )

    def hybrid_forward(self, F, x):
        through, around = self._ways(x)
        return _relu(F, around + through)


class BottleneckV1(_BlockV1):
    """1 x 1, 3 x 3 and 1 x 1 convolutions and the way around them, for ResNet V1 with 50 layers and more.

    Examples
    --------
    >>> block = gluon.model_zoo.vision.BottleneckV1(8, stride=2, downsample=True)
    >>> block.initialize()
    >>> block(nd.ones((1, 4, 8, 8))).shape
    (1, 8, 4, 4)
    """

    def _add_body(self, channels, stride, in_channels):
        # The 1 x 1 convolutions have a bias and the stride is the first one's, as in MXNet's files.
        self.body.add(
            _conv1x1(channels // 4, stride, use_bias=True),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels // 4, 1, channels // 4),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv1x1(channels, use_bias=True),
            nn.BatchNorm(),
        )

    def hybrid_forward(self, F, x):
        through, around = self._ways(x)
        return _relu(F, through + around)


class BasicBlockV2(HybridBlock):
    """Two 3 x 3 convolutions, each after normalization, and the way around them, for ResNet V2 with 18 and 34
    layers. Parameters as of BasicBlockV1.

    Examples
    --------
    >>> block = gluon.model_zoo.vision.BasicBlockV2(8, stride=2, downsample=True)
    >>> block.initialize()
    >>> block(nd.ones((1, 4, 8, 8))).shape
    (1, 8, 4, 4)
    """

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv3x3(channels, stride, in_channels)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels, 1, channels)
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F, x):
        activated = _relu(F, self.bn1(x))
        around = x if self.downsample is None else self.downsample(activated)
        x = self.conv1(activated)
        x = self.conv2(_relu(F, self.bn2(x)))
        return x + around


class BottleneckV2(HybridBlock):
    """1 x 1, 3 x 3 and 1 x 1 convolutions, each after normalization, and the way around them, for ResNet V2
    with 50 layers and more. Parameters as of BasicBlockV1.

    Examples
    --------
    >>> block = gluon.model_zoo.vision.BottleneckV2(8, stride=2, downsample=True)
    >>> block.initialize()
    >>> block(nd.ones((1, 4, 8, 8))).shape
    (1, 8, 4, 4)
    """

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv1x1(channels // 4)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels // 4, stride, channels // 4)
        self.bn3 = nn.BatchNorm()
        self.conv3 = _conv1x1(channels)
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F, x):
        activated = _relu(F, self.bn1(x))
        around = x if self.downsample is None else self.downsample(activated)
        x = self.conv1(activated)
        x = self.conv2(_relu(F, self.bn2(x)))
        x = self.conv3(_relu(F, self.bn3(x)))
        return x + around


class _ResNet(Classifier):
    """What the networks of both versions share."""

    def __init__(self, block, layers, channels, classes=1000, thumbnail=False, **kwargs):
        super().__init__(**kwargs)
        assert len(layers) == len(channels) - 1, (
            f"expected one more number of channels than stages, got layers {layers} and channels {channels}"
        )
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._add_first(channels[0], thumbnail)
            for number, blocks in enumerate(layers):
                self.features.add(
                    self._stage(block, blocks, channels[number], channels[number + 1], number + 1)
                )
            self._add_last()
            self.output = nn.Dense(classes, in_units=channels[-1])

    def _add_first(self, channels, thumbnail):
        if thumbnail:
            self.features.add(_conv3x3(channels, 1, 0))
        else:
            self.features.add(
                nn.Conv2D(channels, kernel_size=7, strides=2, padding=3, use_bias=False),
                nn.BatchNorm(),
                nn.Activation("relu"),
                nn.MaxPool2D(3, 2, 1),
            )

    @staticmethod
    def _stage(block, blocks, in_channels, channels, number):
        """A stage of `blocks` residual blocks; all but the first stage halve height and width."""
        stage = nn.HybridSequential(prefix=f"stage{number}_")
        with stage.name_scope():
            stride = 1 if number == 1 else 2
            stage.add(block(channels, stride, channels != in_channels, in_channels=in_channels, prefix=""))
            for _ in range(blocks - 1):
                stage.add(block(channels, 1, False, in_channels=channels, prefix=""))
        return stage


class ResNetV1(_ResNet):
    """Residual network, version 1.

    Parameters
    ----------
    block : class of the residual blocks.
    layers : number of blocks in each stage.
    channels : channels of the first convolution and of each stage. AssertionError: not one more than layers.
    classes : outputs.
    thumbnail : starts with a 3 x 3 convolution of stride 1 for small images, instead of a 7 x 7 one of stride
        2 and a pooling.

    Examples
    --------
    >>> from headrace.gluon.model_zoo import vision
    >>> net = vision.ResNetV1(vision.BasicBlockV1, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(nd.ones((1, 3, 16, 16))).shape
    (1, 10)
    """

    def _add_last(self):
        self.features.add(nn.GlobalAvgPool2D())


class ResNetV2(_ResNet):
    """Residual network, version 2. Parameters as of ResNetV1.

    Examples
    --------
    >>> from headrace.gluon.model_zoo import vision
    >>> net = vision.ResNetV2(vision.BasicBlockV2, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(nd.ones((1, 3, 16, 16))).shape
    (1, 10)
    """

    def _add_first(self, channels, thumbnail):
        self.features.add(nn.BatchNorm(scale=False, center=False))
        super()._add_first(channels, thumbnail)

    def _add_last(self):
        self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())


# Number of layers to whether blocks are bottlenecks, and their number in each stage.
STAGES = {
    18: (False, [2, 2, 2, 2]),
    34: (False, [3, 4, 6, 3]),
    50: (True, [3, 4, 6, 3]),
    101: (True, [3, 4, 23, 3]),
    152: (True, [3, 8, 36, 3]),
}
CHANNELS = {False: [64, 64, 128, 256, 512], True: [64, 256, 512, 1024, 2048]}
VERSIONS = {
    1: (ResNetV1, {False: BasicBlockV1, True: BottleneckV1}),
    2: (ResNetV2, {False: BasicBlockV2, True: BottleneckV2}),
}


def get_resnet(version, num_layers, pretrained=False, ctx=None, root=DEFAULT_ROOT, **kwargs):
    """ResNet V1 or V2 with 18, 34, 50, 101 or 152 layers; `kwargs` go to ResNetV1 or ResNetV2.

    AssertionError: another version or number of layers. FileNotFoundError: `pretrained`, and there is no file
    of parameters in `root`.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_resnet(version=2, num_layers=18, classes=10)
    >>> len(net.features), net.output
    (13, Dense(512 -> 10, linear))
    """
    assert num_layers in STAGES, f"Invalid number of layers: {num_layers}. Options are {list(STAGES)}"
    assert version in VERSIONS, f"Invalid resnet version: {version}. Options are 1 and 2."
    is_bottleneck, layers = STAGES[num_layers]
    network, blocks = VERSIONS[version]
    net = network(blocks[is_bottleneck], layers, CHANNELS[is_bottleneck], **kwargs)
    return load_pretrained(net, pretrained, f"resnet{num_layers}_v{version}", ctx, root)


def resnet18_v1(**kwargs):
    """ResNet V1 with 18 layers; `kwargs` as of get_resnet."""
    return get_resnet(1, 18, **kwargs)


def resnet34_v1(**kwargs):
    """ResNet V1 with 34 layers; `kwargs` as of get_resnet."""
    return get_resnet(1, 34, **kwargs)


def resnet50_v1(**kwargs):
    """ResNet V1 with 50 layers; `kwargs` as of get_resnet."""
    return get_resnet(1, 50, **kwargs)


def resnet101_v1(**kwargs):
    """ResNet V1 with 101 layers; `kwargs` as of get_resnet."""
    return get_resnet(1, 101, **kwargs)


def resnet152_v1(**kwargs):
    """ResNet V1 with 152 layers; `kwargs` as of get_resnet."""
    return get_resnet(1, 152, **kwargs)


def resnet18_v2(**kwargs):
    """ResNet V2 with 18 layers; `kwargs` as of get_resnet."""
    return get_resnet(2, 18, **kwargs)


def resnet34_v2(**kwargs):
    """ResNet V2 with 34 layers; `kwargs` as of get_resnet."""
    return get_resnet(2, 34, **kwargs)


def resnet50_v2(**kwargs):
    """ResNet V2 with 50 layers; `kwargs` as of get_resnet."""
    return get_resnet(2, 50, **kwargs)


def resnet101_v2(**kwargs):
    """ResNet V2 with 101 layers; `kwargs` as of get_resnet."""
    return get_resnet(2, 101, **kwargs)


def resnet152_v2(**kwargs):
    """ResNet V2 with 152 layers; `kwargs` as of get_resnet."""
    return get_resnet(2, 152, **kwargs)
