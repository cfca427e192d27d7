"""Layers, losses and networks have MXNet's names, shapes, printed forms and graphs."""

import json

import pytest

import headrace as hr

# Defines the same functions here and in MXNet's process.
FACTS = '''
import json

def make(text, mx):
    """What an expression makes; its names start to count at 0."""
    from types import SimpleNamespace
    spaces = {"nn": mx.gluon.nn, "contrib": mx.gluon.contrib.nn, "loss": mx.gluon.loss,
              "zoo": mx.gluon.model_zoo.vision, "rnn": mx.gluon.rnn, "crnn": mx.gluon.contrib.rnn}
    with mx.name.NameManager():
        return eval(text, spaces)

def initializer_of(param):
    return param.init if param.init is None or isinstance(param.init, str) else param.init.dumps()

def layout(block):
    """Names, shapes, initializers and printed form of a block and its parameters."""
    parameters = [[param.name, param.shape, param.grad_req, initializer_of(param)]
                  for param in block.collect_params().values()]
    return [repr(block), parameters, sorted(block._collect_params_with_prefix())]

def graph(block, mx, inputs):
    """Operator, name, attributes and inputs of every node of the symbol that a block makes."""
    with mx.name.NameManager():
        if hasattr(block, "unroll"):
            lengths = mx.sym.var("lengths")
            out, _ = block.unroll(2, mx.sym.var("data"), merge_outputs=True, valid_length=lengths)
        else:
            out = block(*(mx.sym.var(name) for name in inputs))
    return [[node["op"], node["name"],
             {key: "True" if key == "squeeze_axis" else value  # which MXNet spells 1 in some places
              for key, value in node.get("attrs", {}).items() if not key.startswith("__")},
             [entry[:2] for entry in node["inputs"]]]
            for node in json.loads(out.tojson())["nodes"]]
'''

scope = {}
exec(FACTS, scope)
make, layout, graph = scope["make"], scope["layout"], scope["graph"]

LAYERS = """
nn.Dense(3)
nn.Dense(3, activation='relu', use_bias=False, flatten=False, in_units=2)
nn.Dropout(0.5)
nn.Dropout(0)
nn.Dropout(0.3, axes=(1,))
nn.Embedding(4, 3)
nn.Embedding(4, 3, sparse_grad=True, dtype='float64')
nn.Flatten()
nn.LayerNorm()
nn.LayerNorm(1, 1e-3, center=False, scale=False, in_channels=4)
nn.Activation('softrelu')
nn.LeakyReLU(0.1)
nn.PReLU()
nn.PReLU(in_channels=3)
nn.ELU()
nn.SELU()
nn.GELU()
nn.Swish()
nn.Swish(2)
nn.HybridLambda('relu')
nn.HybridLambda(lambda F, x: F.relu(x))
nn.HybridSequential()
nn.Conv1D(4, 3)
nn.Conv2D(4, 3, activation='relu', prefix='here_')
nn.Conv2D(4, (3, 5), strides=2, padding=(1, 0), dilation=2, groups=2, use_bias=False, in_channels=6)
nn.Conv2D(4, 3, layout='NHWC')
nn.Conv3D(4, 3, layout='NDHWC', in_channels=2)
nn.Conv1DTranspose(4, 3, padding=1)
nn.Conv2DTranspose(4, 3, strides=2, output_padding=1, groups=2, in_channels=4)
nn.Conv3DTranspose(4, 3, use_bias=False)
nn.MaxPool1D()
nn.MaxPool2D()
nn.MaxPool2D(3, 2, 1, 'NHWC', True)
nn.MaxPool3D(2, None, 0, True)
nn.AvgPool1D(3, 2, 1, 'NCW', True, False)
nn.AvgPool2D(2, 1, 0, True, 'NHWC', False)
nn.AvgPool3D(count_include_pad=False)
nn.GlobalMaxPool1D()
nn.GlobalMaxPool2D('NHWC')
nn.GlobalMaxPool3D()
nn.GlobalAvgPool1D()
nn.GlobalAvgPool2D()
nn.GlobalAvgPool3D()
nn.ReflectionPad2D()
nn.ReflectionPad2D(2)
nn.BatchNorm()
nn.BatchNorm(3, 0.8, 1e-3, scale=False, center=False, use_global_stats=True, in_channels=3)
nn.BatchNormReLU()
nn.InstanceNorm()
nn.InstanceNorm(axis=2, center=False, scale=True, in_channels=3)
nn.GroupNorm()
nn.GroupNorm(2, 1e-3, center=False)
contrib.HybridConcurrent(axis=1)
contrib.Identity()
contrib.SyncBatchNorm(num_devices=1)
contrib.PixelShuffle1D(2)
contrib.PixelShuffle2D((2, 3))
rnn.RNNCell(3)
rnn.RNNCell(3, 'relu', input_size=2, i2h_bias_initializer='ones')
rnn.LSTMCell(3)
rnn.LSTMCell(3, input_size=2, activation='relu', recurrent_activation='tanh', prefix='here_')
rnn.GRUCell(3)
rnn.GRUCell(3, 'ones', 'zeros', prefix='here_')
rnn.DropoutCell(0.3, axes=(1,))
rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.GRUCell(2), output_prefix='both_')
rnn.ResidualCell(rnn.GRUCell(3))
rnn.ZoneoutCell(rnn.LSTMCell(3), 0.2, 0.3)
crnn.VariationalDropoutCell(rnn.GRUCell(3), 0.1, 0.2, 0.3)
crnn.Conv1DRNNCell((2, 5), 3, 3, 3, activation='relu')
loss.L2Loss()
loss.L1Loss(2.0, batch_axis=1)
loss.SigmoidBCELoss()
loss.SigmoidBCELoss(True)
loss.SoftmaxCELoss()
loss.SoftmaxCELoss(from_logits=True)
loss.SoftmaxCELoss(sparse_label=False)
loss.KLDivLoss()
loss.KLDivLoss(False)
loss.HuberLoss(2)
loss.HingeLoss()
loss.SquaredHingeLoss(2)
loss.LogisticLoss()
loss.LogisticLoss(label_format='binary')
loss.PoissonNLLLoss()
loss.TripletLoss()
"""
LAYERS = LAYERS.split("\n")[1:-1]
# Blocks that compute the same as MXNet's with other operators.
OTHER_GRAPHS = [
    "nn.BatchNormReLU()",
    "contrib.PixelShuffle2D((2, 3))",
    "contrib.PixelShuffle3D(2)",
    "loss.HuberLoss(2)",
    "crnn.LSTMPCell(4, 3)",
    "crnn.Conv2DLSTMCell((2, 5, 5), 3, 3, 3, i2h_pad=1, conv_layout='NCHW')",
    "crnn.Conv3DGRUCell((2, 5, 5, 5), 3, (3, 1, 3), 1, prefix='here_')",
]
EMPTY = ["nn.HybridSequential()", "contrib.HybridConcurrent(axis=1)"]
NETWORKS = [f"zoo.get_model({name!r})" for name in hr.gluon.model_zoo.vision._MODELS] + [
    "zoo.ResNetV1(zoo.BasicBlockV1, [1, 1], [16, 16, 32], thumbnail=True)",
    "zoo.ResNetV2(zoo.BottleneckV2, [1, 1], [16, 16, 32], 7, True, prefix='small_')",
    "zoo.BasicBlockV1(8, 2, True)",
    "zoo.BottleneckV2(8, 1, in_channels=8)",
    "zoo.DenseNet(8, 4, [2, 2], 2, 0.1, 10)",
    "zoo.get_mobilenet_v2(1.5, classes=10)",
    "zoo.get_vgg(11, batch_norm=True, classes=5)",
]


def inputs_of(text):
    if not text.startswith("loss"):
        return ["data"]
    return ["data0", "data1", "data2"] if "Triplet" in text else ["data0", "data1"]


def program(texts, fact):
    """A program that prints `fact`, an expression of block and names, for each of `texts`."""
    return f"""
import mxnet as mx
{FACTS}
cases = {[(text, inputs_of(text)) for text in texts]!r}
print(json.dumps([{fact} for block, names in ((make(text, mx), names) for text, names in cases)]))
"""


@pytest.fixture(scope="module")
def layouts(mxnet_peer):
    texts = LAYERS + OTHER_GRAPHS + NETWORKS
    return dict(zip(texts, mxnet_peer(program(texts, "layout(block)"))))


@pytest.fixture(scope="module")
def graphs(mxnet_peer):
    texts = [text for text in LAYERS + NETWORKS if text not in EMPTY]
    return dict(zip(texts, mxnet_peer(program(texts, "graph(block, mx, names)"))))


@pytest.mark.parametrize("text", LAYERS + OTHER_GRAPHS + NETWORKS)
def test_names_and_shapes(layouts, text):
    printed, parameters, paths = json.loads(json.dumps(layout(make(text, hr))))
    assert printed == layouts[text][0]
    assert parameters == layouts[text][1]
    assert paths == layouts[text][2]


@pytest.mark.parametrize("text", [text for text in LAYERS + NETWORKS if text not in EMPTY])
def test_graphs(graphs, text):
    nodes = json.loads(json.dumps(graph(make(text, hr), hr, inputs_of(text))))
    assert len(nodes) == len(graphs[text])
    for ours, theirs in zip(nodes, graphs[text]):
        assert ours == theirs
