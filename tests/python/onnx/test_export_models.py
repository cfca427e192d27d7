"""export_model: whole networks and their parts give the same numbers in onnxruntime."""

import numpy as np
import pytest

import headrace as mx
from headrace.gluon import nn, rnn
from headrace.gluon.model_zoo import vision
from headrace.mxnet import onnx as mx_onnx

X = mx.sym.var("x")
Y = mx.sym.var("y")
contrib = mx.sym.contrib
RANDOM = np.random.default_rng(5)

ZOO = {
    "alexnet": 224,
    "densenet121": 224,
    "inceptionv3": 299,
    "mobilenet0.25": 64,
    "mobilenetv2_0.25": 64,
    "resnet18_v1": 64,
    "resnet18_v2": 64,
    "resnet50_v1": 64,
    "resnet50_v2": 64,
    "squeezenet1.0": 224,
    "squeezenet1.1": 224,
    "vgg11": 64,
    "vgg11_bn": 64,
}


def exported(models, net, *data, tolerance=1e-4, **options):
    """Exports a block by its files, and compares its outputs for arrays of NumPy (or lists of them).

    Without options, those of the model when it is imported, too.
    """
    given = [
        mx.nd.array(v, dtype=v.dtype) if not isinstance(v, list) else list(map(mx.nd.array, v)) for v in data
    ]
    net.hybridize()
    want = [out.asnumpy() for out in flat(net(*given))]
    net.export(models.file("net"))
    files = [models.file(name) for name in ("net-symbol.json", "net-0000.params")]
    data = flat(data)
    path = mx_onnx.export_model(
        *files, [v.shape for v in data], [v.dtype for v in data], onnx_file_path=models.file(), **options
    )
    names = ["data"] if len(data) == 1 else [f"data{i}" for i in range(len(data))]
    inputs = dict(zip(names, data))
    models.same(want, models.run(path, **inputs), tolerance)
    if not options:
        models.same(want, models.imported(path, **inputs), tolerance)
    return path


def flat(values):
    """The arrays in lists of lists."""
    if not isinstance(values, (list, tuple)):
        return [values]
    return [array for value in values for array in flat(value)]


@pytest.mark.parametrize("name", ZOO)
def test_zoo(models, name):
    size = ZOO[name]
    net = vision.get_model(name, classes=10)
    net.initialize(mx.init.Xavier())
    image = RANDOM.uniform(-1, 1, (1, 3, size, size)).astype("float32")
    exported(models, net, image)


@pytest.mark.parametrize("layer", [rnn.LSTM, rnn.GRU, rnn.RNN])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2}, {"num_layers": 2, "bidirectional": True}])
def test_recurrent_layers(models, layer, options):
    net = layer(6, input_size=4, **options)
    net.initialize(mx.init.Uniform(0.5))
    begin = net.begin_state(2, func=lambda **given: mx.nd.random.uniform(-1, 1, given["shape"]))
    exported(models, net, RANDOM.uniform(-1, 1, (5, 2, 4)).astype("float32"), [v.asnumpy() for v in begin])


def test_recurrent_layers_of_batches_first(models):
    net = nn.HybridSequential()
    net.add(rnn.LSTM(6, layout="NTC", input_size=4), nn.Dense(3, flatten=False))
    net.initialize(mx.init.Uniform(0.5))
    exported(models, net, RANDOM.uniform(-1, 1, (2, 5, 4)).astype("float32"))


@pytest.mark.parametrize("mode", ["rnn_tanh", "rnn_relu", "gru", "lstm"])
@pytest.mark.parametrize("ways", [1, 2])
def test_rnn_with_states(models, mode, ways):
    data = {"x": RANDOM.uniform(-1, 1, (5, 2, 4)).astype("float32")}
    names = ["h", "c"] if mode == "lstm" else ["h"]
    data.update((n, RANDOM.uniform(-1, 1, (2 * ways, 2, 3)).astype("float32")) for n in names)
    sym = mx.sym.RNN(
        X,
        mx.sym.var("weights"),
        *map(mx.sym.var, names),
        state_size=3,
        num_layers=2,
        bidirectional=ways == 2,
        mode=mode,
        state_outputs=True,
    )
    models.check(mx.sym.Group(list(sym)), **data)


@pytest.mark.parametrize("mode", ["gru", "lstm"])
def test_rnn_with_lengths(models, mode):
    data = {"x": RANDOM.uniform(-1, 1, (5, 3, 4)).astype("float32")}
    names = ["h", "c"] if mode == "lstm" else ["h"]
    data.update((n, RANDOM.uniform(-1, 1, (2, 3, 3)).astype("float32")) for n in names)
    data["lengths"] = np.array([2, 5, 3], "float32")
    sym = mx.sym.RNN(
        X,
        mx.sym.var("weights"),
        *map(mx.sym.var, names),
        sequence_length=mx.sym.var("lengths"),
        use_sequence_length=True,
        state_size=3,
        num_layers=1,
        bidirectional=True,
        mode=mode,
        state_outputs=True,
    )
    models.check(mx.sym.Group(list(sym)), **data)


class Transformer(mx.gluon.HybridBlock):
    """Embedded words, a layer of masked self-attention and one of features, and the first word's class."""

    def __init__(self, heads, size):
        super().__init__()
        self.heads = heads
        with self.name_scope():
            self.words = nn.Embedding(11, size)
            self.places = nn.Embedding(8, size)
            self.mixed = nn.Dense(3 * size, flatten=False)
            self.joined = nn.Dense(size, flatten=False)
            self.norms = nn.HybridSequential()
            self.norms.add(nn.LayerNorm(), nn.LayerNorm())
            self.features = nn.HybridSequential()
            self.features.add(nn.Dense(2 * size, flatten=False), nn.GELU(), nn.Dropout(0.1))
            self.features.add(nn.Dense(size, flatten=False))
            self.out = nn.Dense(4, flatten=False)

    def hybrid_forward(self, F, words, lengths):
        numbers = F.contrib.arange_like(words, axis=1)
        data = F.broadcast_add(self.words(words), F.expand_dims(self.places(numbers), axis=0))
        data = F.transpose(data, axes=(1, 0, 2))
        mixed = self.mixed(data)
        scores = F.contrib.interleaved_matmul_selfatt_qk(mixed, heads=self.heads)
        # One length for each head and row of scores.
        each = F.broadcast_like(
            F.reshape(F.repeat(lengths, repeats=self.heads), shape=(-1, 1)),
            scores,
            lhs_axes=(1,),
            rhs_axes=(1,),
        )
        weights = F.softmax(scores, each, use_length=True)
        mixture = F.contrib.interleaved_matmul_selfatt_valatt(mixed, weights, heads=self.heads)
        data = self.norms[0](data + self.joined(mixture))
        data = self.norms[1](data + self.features(data))
        return self.out(F.take(data, F.zeros_like(F.slice_axis(lengths, axis=0, begin=0, end=1)), axis=0))


def transformer_data(batch, length):
    words = RANDOM.integers(0, 11, (batch, length)).astype("float32")
    return words, RANDOM.integers(1, length + 1, (batch,)).astype("int32")


def test_transformer(models):
    net = Transformer(2, 8)
    net.initialize(mx.init.Normal(0.5))
    exported(models, net, *transformer_data(3, 5))


def test_transformer_of_any_size(models):
    net = Transformer(2, 8)
    net.initialize(mx.init.Normal(0.5))
    path = exported(models, net, *transformer_data(3, 5), dynamic=True)
    words, lengths = transformer_data(4, 7)
    want = net(mx.nd.array(words), mx.nd.array(lengths, dtype="int32")).asnumpy()
    models.same([want], models.run(path, data0=words, data1=lengths), 1e-4)


def test_attention_of_two_sequences(models):
    queries = RANDOM.uniform(-1, 1, (5, 2, 12)).astype("float32")
    keys = RANDOM.uniform(-1, 1, (7, 2, 24)).astype("float32")
    weights = contrib.interleaved_matmul_encdec_qk(X, Y, heads=3)
    models.check(contrib.interleaved_matmul_encdec_valatt(Y, weights, heads=3), x=queries, y=keys)


def boxes(batch=2, count=12):
    """Rows of class, score, and corners, with equal scores among them."""
    corners = RANDOM.uniform(0, 6, (batch, count, 2))
    sizes = RANDOM.uniform(2, 5, (batch, count, 2))
    classes = RANDOM.integers(0, 3, (batch, count, 1))
    scores = RANDOM.integers(0, 10, (batch, count, 1)) / 10
    return np.concatenate([classes, scores, corners, corners + sizes], axis=2).astype("float32")


@pytest.mark.parametrize(
    "options",
    [
        {"force_suppress": True},
        {"id_index": 0},
        {"id_index": 0, "background_id": 0},
        {"topk": 4, "force_suppress": True},
        {"valid_thresh": 0.35, "id_index": 0, "in_format": "center", "out_format": "center"},
    ],
)
def test_box_nms(models, options):
    options = {"overlap_thresh": 0.2, "coord_start": 2, "score_index": 1, **options}
    models.check(contrib.box_nms(X, **options), back=False, x=boxes())


@pytest.mark.parametrize("form", ["center", "corner"])
def test_box_decode(models, form):
    anchors = boxes(1)[:, :, 2:]
    data = RANDOM.uniform(-1, 1, (2, 12, 4)).astype("float32")
    sym = contrib.box_decode(X, Y, std0=0.1, std1=0.1, std2=0.2, std3=0.3, clip=0.1, format=form)
    models.check(sym, x=data, y=anchors)


def test_regions(models):
    image = RANDOM.uniform(-1, 1, (2, 3, 12, 12)).astype("float32")
    rois = np.array([[0, 1, 1, 9, 8], [1, 0, 2, 5, 7], [1, 3, 3, 11, 11]], "float32")
    models.check(
        contrib.ROIAlign(X, Y, pooled_size=(3, 2), spatial_scale=0.5, sample_ratio=2),
        x=image,
        y=rois * np.array([1, 2, 2, 2, 2], "float32"),
    )
    models.check(mx.sym.ROIPooling(X, Y, pooled_size=(2, 2), spatial_scale=1.0), x=image, y=rois)


def test_regions_of_no_image(models):
    image = RANDOM.uniform(-1, 1, (2, 3, 12, 12)).astype("float32")
    rois = np.array([[0, 1, 1, 9, 8], [-1, 0, 2, 5, 7]], "float32")
    sym = contrib.ROIAlign(X, Y, pooled_size=(2, 2), spatial_scale=1.0, sample_ratio=2)
    models.check(sym, x=image, y=rois)
