"""export_model: onnxruntime computes what each operator computes."""

import numpy as np
import pytest

import headrace as mx

X = mx.sym.var("x")
Y = mx.sym.var("y")
contrib = mx.sym.contrib
RANDOM = np.random.default_rng(1)
IMAGE = RANDOM.uniform(-1, 1, (2, 3, 9, 8)).astype("float32")
MATRIX = RANDOM.uniform(0.1, 0.9, (2, 4, 5)).astype("float32")
SIGNED = RANDOM.uniform(-3, 3, (4, 3, 5)).astype("float32")

POINTWISE = ["relu", "sigmoid", "tanh", "softsign", "exp", "log", "sqrt", "abs", "sign", "sin", "cos", "tan"]
POINTWISE += [
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "arcsinh",
    "arctanh",
    "erf",
    "floor",
    "ceil",
    "rint",
    "round",
]
POINTWISE += ["reciprocal", "negative", "square", "rsqrt", "log2", "log10", "log1p", "expm1", "BlockGrad"]
POINTWISE += ["identity", "MakeLoss", "hard_sigmoid", "logical_not", "zeros_like", "ones_like", "shape_array"]
POINTWISE += ["size_array", "Dropout", "smooth_l1", "make_loss"]
BROADCAST = ["add", "sub", "mul", "div", "power", "maximum", "minimum", "mod", "lesser", "greater", "equal"]
BROADCAST += ["lesser_equal", "greater_equal", "not_equal", "logical_and", "logical_or", "logical_xor"]

GRAPHS = {
    "scalars": 2 - (X * 3 + 1 - 0.5) / 2 + 1 / X + X**2,
    "elementwise": X + X * X - X / (X + 2),
    "scalar_limits": mx.sym.maximum(X, 0.5) + mx.sym.minimum(X, 0.4),
    "two_limits": mx.sym.maximum(X, 1 - X) * mx.sym.minimum(X, 1 - X),
    "power": X**X + 2**X,
    "comparisons": (X > 0.5) + (X < 0.3) * 2 + (X >= 0.4) * 4 + (X <= 0.4) * 8 + (X == 1) + (X != 1),
    "comparisons_of_two": (X > 1 - X) + (X < 1 - X) * 2 + (X >= 1 - X) * 4 + (X == X) * 8 + (X != X),
    "add_n": mx.sym.add_n(X, X, X),
    "clip": mx.sym.clip(X, 0.3, 0.6),
    "cast": mx.sym.cast(X * 5, "int32"),
    "where": mx.sym.where(X > 0.5, X, 1 - X),
    "leaky": mx.sym.LeakyReLU(X - 0.5, slope=0.1),
    "elu": mx.sym.LeakyReLU(X - 0.5, act_type="elu", slope=0.7),
    "selu": mx.sym.LeakyReLU(X - 0.5, act_type="selu"),
    "gelu": mx.sym.LeakyReLU(X - 0.5, act_type="gelu"),
    "prelu": mx.sym.LeakyReLU(X - 0.5, act_type="prelu"),
    "rrelu": mx.sym.LeakyReLU(X - 0.5, act_type="rrelu"),
    "softrelu": mx.sym.Activation(X, act_type="softrelu"),
    "softmax": mx.sym.softmax(X, axis=1),
    "softmax_of_temperature": mx.sym.softmax(X, temperature=0.3),
    "softmin": mx.sym.softmin(X, axis=1),
    "log_softmax": mx.sym.log_softmax(X),
    "layer_norm": mx.sym.LayerNorm(X, eps=1e-3),
    "layer_norm_of_middle": mx.sym.LayerNorm(X, axis=1),
    "dense": mx.sym.FullyConnected(X, num_hidden=6),
    "dense_rows": mx.sym.FullyConnected(X, num_hidden=6, flatten=False, no_bias=True),
    "softmax_output": mx.sym.SoftmaxOutput(X, name="out"),
    "softmax_of_channels": mx.sym.SoftmaxOutput(X, multi_output=True, name="out"),
    "softmax_of_last": mx.sym.SoftmaxOutput(X, preserve_shape=True, name="out"),
    "softmax_activation": mx.sym.SoftmaxActivation(X),
    "logistic": mx.sym.LogisticRegressionOutput(X, name="out"),
    "linear": mx.sym.LinearRegressionOutput(X, name="out"),
    "mae": mx.sym.MAERegressionOutput(X, name="out"),
    "reshape": mx.sym.reshape(X, shape=(0, -1)),
    "reshape_rest": mx.sym.reshape(X, shape=(-2, 1, 1)),
    "reshape_join": mx.sym.reshape(X, shape=(-3, 0)),
    "reshape_part": mx.sym.reshape(X, shape=(0, -4, 2, -1, -2)),
    "reshape_backwards": mx.sym.reshape(X, shape=(-1, 0), reverse=True),
    "reshape_join_backwards": mx.sym.reshape(X, shape=(0, -3), reverse=True),
    "flatten": mx.sym.flatten(X),
    "transpose": mx.sym.transpose(X, axes=(2, 0, 1)),
    "transpose_all": mx.sym.transpose(X),
    "swap": mx.sym.SwapAxis(X, dim1=0, dim2=2),
    "expand_dims": mx.sym.expand_dims(X, axis=-1),
    "squeeze": mx.sym.squeeze(mx.sym.expand_dims(X, axis=1), axis=1),
    "squeeze_all": mx.sym.squeeze(mx.sym.slice_axis(X, axis=1, begin=0, end=1)),
    "concat": mx.sym.concat(X, X * 2, dim=2),
    "stack": mx.sym.stack(X, X * 2, axis=-1),
    "split": mx.sym.split(X, num_outputs=2, axis=1)[1],
    "split_squeezed": mx.sym.split(X, num_outputs=2, axis=0, squeeze_axis=True)[0],
    "split_indices": mx.sym.Group(list(mx.sym.split_v2(X, (1, 3), axis=2))),
    "split_sections": mx.sym.Group(list(mx.sym.split_v2(X, 2, axis=1))),
    "tile": mx.sym.tile(X, reps=(2, 1, 3)),
    "tile_wider": mx.sym.tile(X, reps=(2, 1, 1, 3)),
    "repeat": mx.sym.repeat(X, repeats=2, axis=1),
    "repeat_all": mx.sym.repeat(X, repeats=3),
    "broadcast_to": mx.sym.broadcast_to(mx.sym.expand_dims(X, axis=0), shape=(3, 0, 0, 0)),
    "broadcast_axis": mx.sym.broadcast_axis(mx.sym.expand_dims(X, axis=0), axis=0, size=3),
    "broadcast_like": mx.sym.broadcast_like(mx.sym.sum(X, axis=1, keepdims=True), X),
    "broadcast_like_axis": mx.sym.broadcast_like(
        mx.sym.sum(X, axis=1, keepdims=True), X, lhs_axes=(1,), rhs_axes=(2,)
    ),
    "reshape_like": mx.sym.reshape_like(mx.sym.reshape(X, shape=(-1,)), X),
    "reshape_like_part": mx.sym.reshape_like(X, X, lhs_begin=0, lhs_end=2, rhs_begin=0, rhs_end=2),
    "reshape_like_back": mx.sym.reshape_like(X, X, lhs_begin=-2, lhs_end=3, rhs_begin=-2, rhs_end=3),
    "slice_axis": mx.sym.slice_axis(X, axis=-1, begin=1, end=None),
    "slice": mx.sym.slice(X, begin=(None, 3, 4), end=(None, 0, None), step=(1, -1, -2)),
    "slice_begin": mx.sym.slice(X, begin=(0, 1), end=(1, 3)),
    "slice_like": mx.sym.slice_like(X, mx.sym.slice_axis(X, axis=2, begin=0, end=2), axes=(-1,)),
    "slice_like_all": mx.sym.slice_like(X, mx.sym.slice(X, begin=(0, 0, 0), end=(1, 2, 3))),
    "reverse": mx.sym.reverse(X, axis=(0, 2)),
    "one_hot": mx.sym.one_hot(mx.sym.floor(X * 6) - 1, depth=3, on_value=2, off_value=-1),
    "gather_nd": mx.sym.gather_nd(X, mx.sym.floor(mx.sym.slice_axis(X, axis=1, begin=0, end=2))),
    "pick": mx.sym.pick(X, mx.sym.floor(mx.sym.sum(X, axis=1)), axis=1),
    "pick_kept": mx.sym.pick(X, mx.sym.floor(mx.sym.sum(X, axis=1, keepdims=True)), axis=1, keepdims=True),
    "products": mx.sym.batch_dot(mx.sym.softmax(mx.sym.batch_dot(X, X, transpose_b=True)), X),
    "transposed_product": mx.sym.batch_dot(X, X, transpose_a=True),
    "gemm2": mx.sym.linalg.gemm2(X, X, transpose_b=True, alpha=0.5),
    "dot": mx.sym.dot(X, mx.sym.transpose(X)),
    "dot_turned": mx.sym.dot(mx.sym.flatten(X), mx.sym.flatten(X), transpose_a=True),
    "div_sqrt_dim": contrib.div_sqrt_dim(X),
    "sum": mx.sym.sum(X, axis=(0, 2)),
    "sum_all": mx.sym.sum(X),
    "sum_excluded": mx.sym.sum(X, axis=1, exclude=True),
    "mean": mx.sym.mean(X, axis=1, keepdims=True),
    "mean_all": mx.sym.mean(X),
    "max": mx.sym.max(X, axis=-1),
    "min": mx.sym.min(X, axis=0),
    "prod": mx.sym.prod(X, axis=(1, 2)),
    "norm": mx.sym.norm(X, axis=1),
    "norm_all": mx.sym.norm(X),
    "norm_of_1": mx.sym.norm(X, ord=1, axis=(0, 1), keepdims=True),
    "argmax": mx.sym.argmax(X, axis=1),
    "argmax_all": mx.sym.argmax(X),
    "argmin": mx.sym.argmin(X, axis=-1, keepdims=True),
    "topk": mx.sym.topk(X, k=2),
    "topk_both": mx.sym.Group(list(mx.sym.topk(X, k=2, axis=1, ret_typ="both", is_ascend=True))),
    "topk_values": mx.sym.topk(X, k=3, ret_typ="value", dtype="int64"),
    "topk_of_all": mx.sym.topk(X, k=3, axis=None),
    "argsort": mx.sym.argsort(X, axis=1, is_ascend=False),
    "argsort_to_int": mx.sym.argsort(X, dtype="int32"),
    "sort": mx.sym.sort(X, axis=0),
    "zeros": mx.sym.broadcast_add(X, mx.sym.broadcast_add(mx.sym.zeros((1, 5)), mx.sym.ones((4, 1)))),
    "arange": mx.sym.broadcast_add(X, mx.sym.arange(1, 6, 1)),
    "arange_repeated": mx.sym.broadcast_add(X, mx.sym.reshape(mx.sym.arange(2, repeat=2), shape=(4, 1))),
    "arange_like": contrib.arange_like(X, axis=1, start=2, step=0.5),
    "arange_like_all": contrib.arange_like(X),
    "l2": mx.sym.L2Normalization(X),
    "l2_channel": mx.sym.L2Normalization(X, mode="channel"),
    "l2_spatial": mx.sym.L2Normalization(X, mode="spatial"),
    "sequence_mask": mx.sym.SequenceMask(X),
    "sequence_reverse": mx.sym.SequenceReverse(X),
    "sequence_last": mx.sym.SequenceLast(X),
}
# What depends on sizes in the graph, and what onnxruntime cannot run with free sizes.
FIXED = {"dot", "split_indices", "split_sections", "zeros", "arange", "arange_repeated", "reshape_part"}

IMAGES = {
    "convolution": mx.sym.Convolution(X, kernel=(3, 3), num_filter=4, pad=(1, 0), stride=(2, 1)),
    "dilated": mx.sym.Convolution(X, kernel=(2, 3), num_filter=6, num_group=3, dilate=(2, 1), no_bias=True),
    "deconvolution": mx.sym.Deconvolution(
        X, kernel=(3, 3), num_filter=4, stride=(2, 2), pad=(1, 1), adj=(1, 0)
    ),
    "deconvolution_groups": mx.sym.Deconvolution(X, kernel=(2, 3), num_filter=6, num_group=3, no_bias=False),
    "max_pool": mx.sym.Pooling(X, kernel=(2, 2), stride=(2, 2), pool_type="max"),
    "max_pool_full": mx.sym.Pooling(X, kernel=(2, 3), stride=(2, 2), pooling_convention="full"),
    "average_pool": mx.sym.Pooling(X, kernel=(3, 3), pad=(1, 1), pool_type="avg"),
    "average_pool_full": mx.sym.Pooling(
        X, kernel=(2, 3), stride=(2, 2), pool_type="avg", pooling_convention="full", count_include_pad=False
    ),
    "uncounted": mx.sym.Pooling(X, kernel=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False),
    "sum_pool": mx.sym.Pooling(X, kernel=(3, 3), pad=(1, 1), pool_type="sum"),
    "lp_pool": mx.sym.Pooling(X, kernel=(3, 3), pool_type="lp", p_value=2),
    "global_pool": mx.sym.Pooling(X, global_pool=True, kernel=(1, 1), pool_type="avg"),
    "global_max": mx.sym.Pooling(X, global_pool=True, kernel=(1, 1), pool_type="max"),
    "adaptive": contrib.AdaptiveAvgPooling2D(X, output_size=1),
    "adaptive_parts": contrib.AdaptiveAvgPooling2D(X, output_size=(3, 4)),
    "batch_norm": mx.sym.BatchNorm(X, fix_gamma=False),
    "batch_norm_of_last": mx.sym.BatchNorm(X, fix_gamma=False, axis=-1),
    "fixed_gamma": mx.sym.BatchNorm(X, eps=1e-5),
    "instance_norm": mx.sym.InstanceNorm(X, eps=1e-3),
    "group_norm": mx.sym.GroupNorm(mx.sym.concat(X, X * 2), num_groups=2),
    "lrn": mx.sym.LRN(X, nsize=3, alpha=0.1),
    "prelu": mx.sym.LeakyReLU(X, act_type="prelu"),
    "pad": mx.sym.pad(X, mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 3, 0), constant_value=2),
    "pad_edge": mx.sym.pad(X, mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 3, 0)),
    "pad_reflect": mx.sym.pad(X, mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 3, 0)),
    "crop": mx.sym.Crop(X, num_args=1, offset=(1, 2), h_w=(3, 4)),
    "crop_like": mx.sym.Crop(X, mx.sym.slice_axis(X, axis=2, begin=0, end=5), num_args=2, offset=(1, 0)),
    "upsampling": mx.sym.UpSampling(X, scale=2, sample_type="nearest"),
    "bilinear": contrib.BilinearResize2D(X, height=5, width=13),
    "bilinear_half_pixels": contrib.BilinearResize2D(X, height=18, width=16, align_corners=False),
    "depth_to_space": mx.sym.depth_to_space(mx.sym.concat(X, X * 2, X * 3, X * 4), block_size=2),
    "space_to_depth": mx.sym.space_to_depth(mx.sym.slice_axis(X, axis=2, begin=0, end=8), block_size=2),
}


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise(models, name):
    models.check(getattr(mx.sym, name)(X), x=MATRIX)


@pytest.mark.parametrize("name", BROADCAST)
def test_broadcast(models, name):
    models.check(getattr(mx.sym, f"broadcast_{name}")(X, Y), x=SIGNED, y=np.abs(SIGNED[:, :1].round(1)))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(models, name, dynamic):
    if dynamic and name in FIXED:
        pytest.skip("takes sizes from the shapes given")
    models.check(GRAPHS[name], dynamic=dynamic, back=not dynamic, x=MATRIX)


@pytest.mark.parametrize("name", IMAGES)
def test_images(models, name):
    models.check(IMAGES[name], x=IMAGE)


def test_rows_outside_are_clipped(models):
    rows = np.array([[0, 3, 9], [-2, 4, 1]], "float32")
    models.check(mx.sym.Embedding(X, input_dim=5, output_dim=3), x=rows)
    models.check(mx.sym.take(Y, X, axis=1), x=rows, y=MATRIX)
    models.check(mx.sym.take(Y, X, axis=-1, mode="wrap"), x=rows, y=MATRIX)


def test_sequences_of_several_lengths(models):
    lengths = np.array([1, 4, 2], "float32")
    options = {"use_sequence_length": True}
    for sym in (
        mx.sym.SequenceMask(X, Y, value=-1, **options),
        mx.sym.SequenceReverse(X, Y, **options),
        mx.sym.SequenceLast(X, Y, **options),
        mx.sym.SequenceMask(mx.sym.swapaxes(X, dim1=0, dim2=1), Y, axis=1, **options),
    ):
        models.check(sym, x=SIGNED, y=lengths)


def test_remainders_of_zero(models):
    divisors = np.array([[0, 2, -3, 0, 4]] * 3, "int32")
    models.check(mx.sym.broadcast_mod(X, Y), x=(SIGNED * 9).astype("int32"), y=divisors)


def test_softmax_with_lengths(models):
    lengths = np.array([[1, 4, 2, 5, 3], [3, 1, 1, 2, 4]], "int32")
    models.check(mx.sym.softmax(X, Y, axis=1, use_length=True), x=MATRIX, y=lengths)


def test_random_numbers(models):
    sym = mx.sym.Group(
        [mx.sym.random.uniform(2, 3, shape=(40, 50)), mx.sym.random.normal(5, 2, shape=(40, 50))]
    )
    from headrace.mxnet import onnx as mx_onnx

    path = mx_onnx.export_model(sym, {}, [], onnx_file_path=models.file())
    uniform, normal = models.run(path)
    assert uniform.shape == normal.shape == (40, 50)
    assert 2 <= uniform.min() < uniform.max() <= 3
    assert abs(normal.mean() - 5) < 0.3
    assert abs(normal.std() - 2) < 0.3


def test_multinomial(models):
    from headrace.mxnet import onnx as mx_onnx

    sym = mx.sym.random.multinomial(X, shape=20, get_prob=False)
    path = mx_onnx.export_model(sym, {}, [(2, 3)], onnx_file_path=models.file())
    (drawn,) = models.run(path, x=np.array([[0, 1, 0], [0, 0, 1]], "float32"))
    assert drawn.tolist() == [[1] * 20, [2] * 20]
