"""Parts of MXNet's networks of the model zoo that other networks are made of, and tables of their sizes."""

from ..gluon.model_zoo.vision import densenet, resnet, vgg

__all__: list[str] = []


def _make_dense_block(num_layers, bn_size, growth_rate, dropout, stage_index):
    """The layers of a DenseNet's stage."""
    return densenet.stage(num_layers, growth_rate, bn_size, dropout, stage_index)


def _make_transition(num_output_features):
    """What halves the size between two stages of a DenseNet."""
    return densenet.transition(num_output_features)


densenet_spec = densenet.STAGES
vgg_spec = {layers: (convolutions, vgg.CHANNELS) for layers, convolutions in vgg.CONVOLUTIONS.items()}

_BLOCKS = {False: "basic_block", True: "bottle_neck"}
resnet_spec = {
    layers: (_BLOCKS[is_bottleneck], blocks, resnet.CHANNELS[is_bottleneck])
    for layers, (is_bottleneck, blocks) in resnet.STAGES.items()
}
resnet_net_versions = [network for network, _ in resnet.VERSIONS.values()]
resnet_block_versions = [
    {_BLOCKS[is_bottleneck]: block for is_bottleneck, block in blocks.items()}
    for _, blocks in resnet.VERSIONS.values()
]
