"""Sampling grids, columns of windows, correlation and deformable windows, against NumPy."""

import itertools
import json

import numpy
import pytest

from headrace import autograd, nd, sym
from headrace.base import MXNetError

RNG = numpy.random.RandomState(8)


def array(values, dtype="float64"):
    return nd.array(values, dtype=dtype)


def uniform(*shape, low=-2, high=2):
    return RNG.uniform(low, high, shape)


def close(got, expected, tolerance=1e-10):
    numpy.testing.assert_allclose(got.asnumpy(), expected, rtol=tolerance, atol=tolerance)


def sampled(plane, y, x):
    """Linear interpolation along both axes, with zeros around the plane."""
    total, top, left = 0.0, int(numpy.floor(y)), int(numpy.floor(x))
    for i, j in itertools.product((top, top + 1), (left, left + 1)):
        if 0 <= i < plane.shape[0] and 0 <= j < plane.shape[1]:
            total += plane[i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return total


# --- grids and samplers -------------------------------------------------------------------------------------


def test_affine_grids_map_the_places_of_the_result():
    maps = uniform(3, 6)
    grid = nd.GridGenerator(array(maps), transform_type="affine", target_shape=(4, 5))
    y, x = numpy.meshgrid(numpy.linspace(-1, 1, 4), numpy.linspace(-1, 1, 5), indexing="ij")
    places = numpy.stack([x, y, numpy.ones_like(x)])
    close(grid, numpy.einsum("nik,khw->nihw", maps.reshape(3, 2, 3), places))


def test_warp_grids_move_elements_by_columns_and_rows():
    flow = uniform(2, 2, 3, 5)
    y, x = numpy.meshgrid(numpy.arange(3), numpy.arange(5), indexing="ij")
    expected = (flow + numpy.stack([x, y])) / numpy.array([2.0, 1.0]).reshape(2, 1, 1) - 1
    close(nd.GridGenerator(array(flow), transform_type="warp"), expected)


def test_a_grid_of_one_row_has_no_place_there():
    grid = nd.GridGenerator(array(numpy.ones((1, 6))), transform_type="affine", target_shape=(1, 3))
    assert numpy.isnan(grid.asnumpy()).all()


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-10), ("float32", 1e-5), ("float16", 1e-2)])
def test_sampler_interpolates_among_zeros(dtype, tolerance):
    data, grid = uniform(2, 3, 4, 5), uniform(2, 2, 3, 6, low=-1.7, high=1.7)
    grid[0, :, 0, 0] = [-1, 1]
    data, grid = (x.astype(dtype).astype("float64") for x in (data, grid))
    expected = numpy.empty((2, 3, 3, 6))
    for n, c, i, j in numpy.ndindex(*expected.shape):
        x, y = (grid[n, 0, i, j] + 1) * 4 / 2, (grid[n, 1, i, j] + 1) * 3 / 2
        expected[n, c, i, j] = sampled(data[n, c], y, x)
    close(nd.BilinearSampler(array(data, dtype), array(grid, dtype)), expected, tolerance)


def test_sampler_far_away_and_nowhere():
    grid = numpy.zeros((1, 2, 1, 4))
    grid[0, 0, 0] = [1e30, -1e30, numpy.nan, numpy.inf]
    got = nd.BilinearSampler(array(numpy.ones((1, 1, 3, 3))), array(grid)).asnumpy().ravel()
    numpy.testing.assert_array_equal(got, [0, 0, numpy.nan, numpy.nan])


def test_infinite_elements_stay_where_they_are():
    data = numpy.zeros((1, 1, 3, 3))
    data[0, 0, 0, 0] = numpy.inf
    far = array(numpy.full((1, 2, 1, 1), 9.0))
    assert nd.BilinearSampler(array(data), far).asscalar() == 0


def test_spatial_transformer_is_a_sampler_at_an_affine_grid():
    data, maps = array(uniform(2, 3, 4, 5)), array(uniform(2, 6, low=-1, high=1))
    attrs = {"transform_type": "affine", "sampler_type": "bilinear"}
    grid = nd.GridGenerator(maps, transform_type="affine", target_shape=(3, 6))
    got = nd.SpatialTransformer(data, maps, target_shape=(3, 6), **attrs)
    numpy.testing.assert_array_equal(got.asnumpy(), nd.BilinearSampler(data, grid).asnumpy())
    same = nd.SpatialTransformer(data, array([[1, 0, 0, 0, 1, 0]] * 2), target_shape=(4, 5), **attrs)
    close(same, data.asnumpy())


# --- columns ------------------------------------------------------------------------------------------------

WINDOWS = [
    ((7,), {"kernel": (3,), "stride": (2,), "pad": (1,)}),
    ((5, 6), {"kernel": (3, 2)}),
    ((5, 6), {"kernel": (2, 3), "stride": (2, 1), "dilate": (3, 2), "pad": (1, 4)}),
    ((3, 4, 2), {"kernel": (2, 1, 2), "stride": (1, 3, 1), "pad": (0, 2, 1)}),
]


@pytest.mark.parametrize("size, attrs", WINDOWS)
def test_convolution_is_a_product_with_columns(size, attrs):
    data, weight = array(uniform(2, 3, *size)), array(uniform(4, 3, *attrs["kernel"]))
    columns = nd.im2col(data, **attrs)
    expected = nd.Convolution(data, weight, no_bias=True, num_filter=4, **attrs).asnumpy()
    got = weight.asnumpy().reshape(4, -1) @ columns.asnumpy()
    numpy.testing.assert_allclose(got.reshape(expected.shape), expected, atol=1e-10)


@pytest.mark.parametrize("size, attrs", WINDOWS)
def test_col2im_is_the_transpose_of_im2col(size, attrs):
    x = uniform(2, 3, *size)
    columns = nd.im2col(array(x), **attrs)
    y = uniform(*columns.shape)
    back = nd.col2im(array(y), output_size=size, **attrs)
    assert back.shape == x.shape
    numpy.testing.assert_allclose((columns.asnumpy() * y).sum(), (back.asnumpy() * x).sum(), rtol=1e-10)


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.im2col(nd.ones((1, 1, 3, 3)), kernel=(4, 1)),
        lambda: nd.im2col(nd.ones((1, 1, 3)), kernel=(2, 2)),
        lambda: nd.im2col(nd.ones((1, 1, 3, 3)), kernel=(2, 2), stride=(1,)),
        lambda: nd.im2col(nd.ones((1, 1, 3, 3)), kernel=(2, 2), stride=(0, 1)),
        lambda: nd.col2im(nd.ones((1, 4, 5)), kernel=(2, 2), output_size=(3, 3)),
        lambda: nd.col2im(nd.ones((1, 3, 4)), kernel=(2, 2), output_size=(3, 3)),
        lambda: nd.GridGenerator(nd.ones((1, 5)), transform_type="affine", target_shape=(2, 2)),
        lambda: nd.GridGenerator(nd.ones((1, 6)), transform_type="affine"),
        lambda: nd.GridGenerator(nd.ones((1, 3, 2, 2)), transform_type="warp"),
        lambda: nd.BilinearSampler(nd.ones((1, 1, 2, 2)), nd.ones((2, 2, 2, 2))),
        lambda: nd.Correlation(nd.ones((1, 1, 3, 3)), nd.ones((1, 1, 3, 3)), kernel_size=2),
        lambda: nd.Correlation(nd.ones((1, 1, 3, 3)), nd.ones((1, 1, 3, 3)), max_displacement=2),
        lambda: nd.Correlation(nd.ones((1, 1, 9, 9)), nd.ones((1, 1, 9, 8))),
        lambda: deform(nd.ones((1, 2, 3, 3)), nd.ones((1, 8, 3, 3)), nd.ones((1, 2, 2, 2))),
        lambda: deform(nd.ones((1, 2, 3, 3)), nd.ones((1, 8, 2, 2)), nd.ones((1, 1, 2, 2))),
        lambda: deform(nd.ones((1, 2, 3, 3)), nd.ones((1, 8, 2, 2)), nd.ones((1, 2, 2, 2)), layout="NCW"),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(MXNetError):
        call()


@pytest.mark.parametrize(
    "attrs",
    [
        {"stride1": 0},
        {"stride2": 0},
        {"kernel_size": 2**31 + 1},
        {"pad_size": -1},
        {"max_displacement": 2**31},
    ],
)
def test_numbers_that_make_no_sense_are_refused(attrs):
    with pytest.raises(ValueError, match=next(iter(attrs))):
        nd.Correlation(nd.ones((1, 1, 3, 3)), nd.ones((1, 1, 3, 3)), **attrs)


# --- correlation --------------------------------------------------------------------------------------------


def correlated(a, b, kernel, reach, stride1, stride2, pad, is_product):
    a, b = (numpy.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad))) for x in (a, b))
    border = reach + kernel // 2
    rows, columns = (-(-(extent - 2 * border) // stride1) for extent in a.shape[2:])
    radius = reach // stride2
    steps = [step * stride2 for step in range(-radius, radius + 1)]
    result = numpy.empty((len(a), len(steps) ** 2, rows, columns))
    for k, (down, across) in enumerate(itertools.product(steps, steps)):
        for i, j in numpy.ndindex(rows, columns):
            y, x = i * stride1 + reach, j * stride1 + reach
            left = a[:, :, y : y + kernel, x : x + kernel]
            right = b[:, :, y + down : y + down + kernel, x + across : x + across + kernel]
            both = left * right if is_product else abs(left - right)
            result[:, k, i, j] = both.mean((1, 2, 3))
    return result


@pytest.mark.parametrize("is_product", [True, False])
@pytest.mark.parametrize("settings", [(1, 1, 1, 1, 0), (3, 2, 2, 2, 2), (3, 3, 1, 2, 4), (5, 1, 2, 1, 4)])
def test_correlation(settings, is_product):
    a, b = uniform(2, 3, 8, 9), uniform(2, 3, 8, 9)
    kernel, reach, stride1, stride2, pad = settings
    got = nd.Correlation(
        array(a),
        array(b),
        kernel_size=kernel,
        max_displacement=reach,
        stride1=stride1,
        stride2=stride2,
        pad_size=pad,
        is_multiply=is_product,
    )
    close(got, correlated(a, b, *settings, is_product))


def test_of_equal_elements_the_first_counts_as_the_larger():
    a, b = nd.ones((1, 1, 1, 1)), nd.ones((1, 1, 1, 1))
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        distance = nd.Correlation(a, b, max_displacement=0, is_multiply=False)
    distance.backward()
    assert (a.grad.asscalar(), b.grad.asscalar()) == (1, -1)


# --- deformable windows -------------------------------------------------------------------------------------


def deform(data, offset, weight, **attrs):
    kernel, filters = weight.shape[2:], weight.shape[0]
    return nd.contrib.DeformableConvolution(
        data, offset, weight, kernel=kernel, num_filter=filters, no_bias=True, **attrs
    )


@pytest.mark.parametrize(
    "attrs, size",
    [
        ({}, (4, 5)),
        ({"stride": (2, 1), "pad": (1, 2), "dilate": (1, 2)}, (3, 7)),
        ({"num_group": 2, "num_deformable_group": 4}, (4, 5)),
    ],
)
def test_windows_that_do_not_move_convolve(attrs, size):
    groups, moving = attrs.get("num_group", 1), attrs.get("num_deformable_group", 1)
    data, weight, bias = array(uniform(2, 4, 6, 7)), array(uniform(6, 4 // groups, 3, 3)), array(uniform(6))
    plain = {key: value for key, value in attrs.items() if key != "num_deformable_group"}
    expected = nd.Convolution(data, weight, bias, kernel=(3, 3), num_filter=6, **plain).asnumpy()
    offset, mask = (
        nd.zeros((2, 18 * moving, *size), dtype="float64"),
        nd.ones((2, 9 * moving, *size), dtype="float64"),
    )
    got = nd.contrib.DeformableConvolution(data, offset, weight, bias, kernel=(3, 3), num_filter=6, **attrs)
    close(got, expected)
    got = nd.contrib.ModulatedDeformableConvolution(
        data, offset, mask, weight, bias, kernel=(3, 3), num_filter=6, **attrs
    )
    close(got, expected)


def test_offsets_are_rows_then_columns_of_each_element():
    data = uniform(1, 1, 5, 5)
    offset = numpy.zeros((1, 4, 5, 4))
    offset[0, 0], offset[0, 1], offset[0, 3] = 1, -2, 0.5
    weight = uniform(1, 1, 1, 2)
    expected = numpy.zeros((5, 4))
    for i, j in numpy.ndindex(5, 4):
        inside = i + 1 < 5 and j - 2 >= 0
        expected[i, j] = weight[0, 0, 0, 0] * (data[0, 0, i + 1, j - 2] if inside else 0)
        behind = data[0, 0, i, min(j + 2, 4)]  # from the last element on the image goes on as it is there
        expected[i, j] += weight[0, 0, 0, 1] * (data[0, 0, i, j + 1] + behind) / 2
    close(deform(array(data), array(offset), array(weight)), expected.reshape(1, 1, 5, 4))


def test_borders_of_plain_and_modulated_windows():
    data, weight = array(numpy.full((1, 1, 1, 3), 8.0)), array([[[[1.0]]]])
    offset = numpy.zeros((1, 2, 1, 3))
    offset[0, 1, 0] = [-0.25, 0, 0.75]  # between the border and the first element, on one, behind the last
    close(deform(data, array(offset), weight), [[[[0, 8, 8]]]])
    mask = array(numpy.full((1, 1, 1, 3), 0.5))
    got = nd.contrib.ModulatedDeformableConvolution(
        data, array(offset), mask, weight, kernel=(1, 1), num_filter=1, no_bias=True
    )
    close(got, [[[[3, 4, 1]]]])


def test_regions_are_means_of_moved_samples():
    data, rois = uniform(1, 4, 6, 6), numpy.array([[0, 1, 0, 4, 3]], float)
    trans = uniform(1, 2, 2, 2, low=-1, high=1)
    attrs = {"spatial_scale": 1, "output_dim": 1, "group_size": 2, "pooled_size": 2, "sample_per_part": 3}
    got = nd.contrib.DeformablePSROIPooling(array(data), array(rois), array(trans), trans_std=0.1, **attrs)
    expected = numpy.zeros((1, 1, 2, 2))
    for i, j in numpy.ndindex(2, 2):
        left, top = 0.5 + 2 * j + trans[0, 0, i, j] * 0.4, -0.5 + 2 * i + trans[0, 1, i, j] * 0.4
        places = [(top + a * 2 / 3, left + b * 2 / 3) for a in range(3) for b in range(3)]
        places = [place for place in places if all(-0.5 <= one <= 5.5 for one in place)]
        values = [sampled(data[0, 2 * i + j], *numpy.clip(place, 0, 5)) for place in places]
        expected[0, 0, i, j] = numpy.mean(values)
    close(got, expected, 1e-8)


def test_a_region_of_an_image_that_is_not_there():
    rois = array([[3, 0, 0, 1, 1]])
    result = nd.contrib.DeformablePSROIPooling(
        array(uniform(2, 1, 4, 4)),
        rois,
        no_trans=True,
        spatial_scale=1,
        output_dim=1,
        group_size=1,
        pooled_size=1,
    )
    with pytest.raises(IndexError, match="image 3, but there are 2"):
        result.asnumpy()


# --- graphs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "node, hidden",
    [
        (lambda x: sym.GridGenerator(x, transform_type="affine", target_shape=(2, 2)), 1),
        (lambda x: sym.BilinearSampler(x, sym.var("grid")), 1),
        (
            lambda x: sym.SpatialTransformer(
                x, target_shape=(2, 2), transform_type="affine", sampler_type="bilinear"
            ),
            2,
        ),
        (lambda x: sym.Correlation(x, sym.var("other")), 2),
    ],
)
def test_files_count_the_outputs_that_nobody_sees(node, hidden):
    graph = node(sym.var("x"))
    assert len(graph.list_outputs()) == 1
    rows = json.loads(graph.tojson())["node_row_ptr"]
    assert rows[-1] - rows[-2] == 1 + hidden


def test_weights_of_deformable_windows_follow_from_the_data():
    x = sym.var("x")
    graph = sym.contrib.DeformableConvolution(
        x, sym.var("o"), kernel=(2, 2), num_filter=6, num_group=2, name="d"
    )
    shapes, results, _ = graph.infer_shape(x=(1, 4, 4, 4), o=(1, 8, 3, 3))
    assert dict(zip(graph.list_arguments(), shapes))["d_weight"] == (6, 2, 2, 2)
    assert results == [(1, 6, 3, 3)]
