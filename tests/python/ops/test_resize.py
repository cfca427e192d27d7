"""Images made larger or smaller, and prepared for networks, against NumPy."""

import numpy
import pytest

from headrace import autograd, nd, np, npx
from headrace.base import MXNetError

RNG = numpy.random.RandomState(4)


def interpolate(x, axis, size, align):
    n = x.shape[axis]
    places = numpy.arange(size)
    if align:
        places = places * ((n - 1) / (size - 1) if size > 1 else 0)
    else:
        places = numpy.maximum(0, (places + 0.5) * n / size - 0.5) if size > 1 else places
    low = numpy.minimum(places.astype(int), n - 1)
    high = numpy.minimum(low + 1, n - 1)
    shape = [1] * x.ndim
    shape[axis] = size
    share = (places - low).reshape(shape)
    return numpy.take(x, low, axis) * (1 - share) + numpy.take(x, high, axis) * share


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-10), ("float32", 1e-5), ("bfloat16", 2e-2)])
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("size", [(6, 7), (2, 9), (1, 1), (1, 3), (3, 4)])
def test_bilinear_resize(size, align, dtype, tolerance):
    x = nd.array(RNG.rand(2, 3, 3, 4), dtype=dtype)
    got = nd.contrib.BilinearResize2D(x, height=size[0], width=size[1], align_corners=align)
    host = x.astype("float64").asnumpy()
    expected = interpolate(interpolate(host, 2, size[0], align), 3, size[1], align)
    numpy.testing.assert_allclose(got.astype("float64").asnumpy(), expected, atol=tolerance)


@pytest.mark.parametrize(
    "attrs, size",
    [
        ({"scale_height": 2, "scale_width": 0.5}, (10, 2)),
        ({"mode": "odd_scale", "scale_height": 2, "scale_width": 2}, (9, 8)),
        ({"mode": "to_even_down"}, (4, 4)),
        ({"mode": "to_even_up"}, (6, 4)),
        ({"mode": "to_odd_down"}, (5, 3)),
        ({"mode": "to_odd_up"}, (5, 5)),
    ],
)
def test_sizes_of_bilinear_resize(attrs, size):
    assert nd.contrib.BilinearResize2D(nd.ones((1, 1, 5, 4)), **attrs).shape == (1, 1, *size)


def test_bilinear_resize_like():
    like = nd.ones((1, 5, 7, 2))
    assert nd.contrib.BilinearResize2D(nd.ones((1, 1, 5, 4)), like, mode="like").shape == (1, 1, 7, 2)


@pytest.mark.parametrize("size", [(), 1, 3, (2, 5), (7, 5), (9, 6)])
def test_adaptive_pooling(size):
    x = RNG.rand(2, 3, 7, 5)
    height, width = (1, 1) if size == () else (size, size) if isinstance(size, int) else size
    expected = numpy.empty((2, 3, height, width))
    for i in range(height):
        for j in range(width):
            rows = slice(i * 7 // height, -(-(i + 1) * 7 // height))
            expected[:, :, i, j] = x[:, :, rows, j * 5 // width : -(-(j + 1) * 5 // width)].mean((2, 3))
    got = nd.contrib.AdaptiveAvgPooling2D(nd.array(x, dtype="float64"), output_size=size)
    numpy.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-10)


def test_upsampling_repeats_joins_and_adds():
    x, small = RNG.rand(2, 3, 4, 4), RNG.rand(2, 1, 2, 2)
    large = x.repeat(2, 2).repeat(2, 3)
    arrays = nd.array(x, dtype="float64"), nd.array(small, dtype="float64")
    got = nd.UpSampling(arrays[0], scale=2, sample_type="nearest", num_args=1)
    numpy.testing.assert_array_equal(got.asnumpy(), large)
    other = small.repeat(4, 2).repeat(4, 3)
    got = nd.UpSampling(*arrays, scale=2, sample_type="nearest", num_args=2)
    numpy.testing.assert_array_equal(got.asnumpy(), numpy.concatenate([large, other], 1))
    got = nd.UpSampling(
        arrays[1], arrays[1], scale=3, sample_type="nearest", multi_input_mode="sum", num_args=2
    )
    numpy.testing.assert_array_equal(got.asnumpy(), 2 * small.repeat(3, 2).repeat(3, 3))


def test_second_derivatives_of_resizing():
    x = nd.array(RNG.rand(1, 1, 3, 3))
    x.attach_grad()
    with autograd.record():
        y = (nd.contrib.BilinearResize2D(x, height=5, width=4) ** 2).sum()
        (dx,) = autograd.grad(y, [x], create_graph=True)
        total = dx.sum()
    total.backward()
    numpy.testing.assert_allclose(x.grad.sum().asscalar(), 2 * 5 * 4, rtol=1e-5)


def test_crop():
    x = RNG.rand(1, 2, 6, 5).astype("float32")
    got = nd.Crop(nd.array(x), offset=(1, 2), h_w=(3, 2), num_args=1)
    numpy.testing.assert_array_equal(got.asnumpy(), x[:, :, 1:4, 2:4])
    got = nd.Crop(nd.array(x), nd.ones((1, 1, 2, 3)), center_crop=True, num_args=2)
    numpy.testing.assert_array_equal(got.asnumpy(), x[:, :, 2:4, 1:4])
    with pytest.raises(MXNetError, match="does not fit axis 2"):
        nd.Crop(nd.array(x), offset=(5, 0), h_w=(3, 2), num_args=1)


@pytest.mark.parametrize("shape", [(4, 5, 3), (2, 4, 5, 3)])
def test_images_for_networks(shape):
    pixels = RNG.randint(0, 256, shape).astype("uint8")
    tensor = npx.image.to_tensor(np.array(pixels, dtype="uint8"))
    expected = numpy.moveaxis(pixels, -1, -3).astype("float32") / 255
    numpy.testing.assert_allclose(tensor.asnumpy(), expected, rtol=1e-6)
    got = npx.image.normalize(tensor, mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7))
    mean, std = (numpy.array(v)[:, None, None] for v in ([0.1, 0.2, 0.3], [0.5, 0.6, 0.7]))
    numpy.testing.assert_allclose(got.asnumpy(), (expected - mean) / std, rtol=1e-5, atol=1e-6)
    got = npx.image.normalize(tensor, mean=0.5, std=2)
    numpy.testing.assert_allclose(got.asnumpy(), (expected - 0.5) / 2, rtol=1e-5, atol=1e-6)


def test_what_does_not_fit_is_refused_at_once():
    with pytest.raises(MXNetError, match="4 dimensions"):
        nd.contrib.BilinearResize2D(nd.ones((3, 4, 5)), height=2, width=2)
    with pytest.raises(ValueError, match="must be from 1"):
        nd.contrib.BilinearResize2D(nd.ones((1, 3, 4, 5)), height=0, width=2)
    with pytest.raises(ValueError, match="1 or 2 numbers"):
        nd.contrib.AdaptiveAvgPooling2D(nd.ones((1, 3, 4, 5)), output_size=(1, 2, 3))
    with pytest.raises(MXNetError, match="a whole number of times"):
        nd.UpSampling(
            nd.ones((1, 1, 2, 2)), nd.ones((1, 1, 3, 3)), scale=2, sample_type="nearest", num_args=2
        )
    with pytest.raises(MXNetError, match="expected floats of shape"):
        nd.image.normalize(nd.array(numpy.zeros((3, 2, 2)), dtype="uint8"))
    with pytest.raises(MXNetError, match="1 or 3 channels"):
        nd.image.normalize(nd.ones((2, 2, 2)))
    with pytest.raises(ValueError, match="mean must have 1 or 3 numbers, got 2"):
        nd.image.normalize(nd.ones((3, 2, 2)), mean=(1, 2))


def test_parts_of_images():
    x = RNG.rand(2, 5, 6, 3)
    for image, crop in ((nd.array(x), nd.image.crop), (np.array(x), npx.image.crop)):
        got = crop(image, x=1, y=2, width=4, height=3)
        numpy.testing.assert_array_equal(got.asnumpy(), image.asnumpy()[:, 2:5, 1:5])
        numpy.testing.assert_array_equal(crop(image[0], 1, 2, 4, 3).asnumpy(), got.asnumpy()[0])
    for part in ((3, 0, 4, 1), (0, 3, 1, 3)):
        with pytest.raises(MXNetError, match="at most 6 and 5"):
            nd.image.crop(nd.array(x), *part)
