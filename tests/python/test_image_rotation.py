"""Images turned around their middle."""

import numpy
import pytest

from headrace import image, nd, np
from headrace.gluon.data.vision import transforms

RNG = numpy.random.RandomState(6)


@pytest.mark.parametrize("quarters", [1, 2, 3, 4])
def test_quarters(quarters):
    x = RNG.rand(2, 5, 5).astype("float32")
    got = image.imrotate(nd.array(x), 90 * quarters).asnumpy()
    numpy.testing.assert_allclose(got, numpy.rot90(x, quarters, (1, 2)), atol=1e-5)


def test_every_image_of_a_batch_has_an_angle():
    x = RNG.rand(3, 2, 4, 6).astype("float32")
    angles = [10.0, -75.0, 0.0]
    got = image.imrotate(nd.array(x), nd.array(angles)).asnumpy()
    for one, angle, expected in zip(x, angles, got):
        numpy.testing.assert_allclose(image.imrotate(nd.array(one), angle).asnumpy(), expected, atol=1e-6)
    numpy.testing.assert_allclose(got[2], x[2], atol=1e-6)
    numpy.testing.assert_array_equal(image.imrotate(nd.array(x), 10).asnumpy()[0], got[0])


@pytest.mark.parametrize("angle", [20, -45, 100, 200])
def test_zooming_in_shows_nothing_outside(angle):
    x = nd.ones((1, 31, 31))
    assert image.imrotate(x, angle).asnumpy().min() == 0
    numpy.testing.assert_allclose(image.imrotate(x, angle, zoom_in=True).asnumpy(), 1, atol=1e-5)


@pytest.mark.parametrize("angle", [20, -45, 100])
def test_zooming_out_shows_all(angle):
    x = numpy.zeros((1, 31, 31), "float32")
    x[:, [0, 0, -1, -1], [0, -1, 0, -1]] = 1
    assert image.imrotate(nd.array(x), angle).asnumpy().max() < 0.1
    assert image.imrotate(nd.array(x), angle, zoom_out=True).asnumpy().max() > 0.1


def test_np_arrays_stay_np_arrays():
    assert isinstance(image.imrotate(np.ones((1, 3, 3)), 10), np.ndarray)


@pytest.mark.parametrize(
    "error, x, angle, zooms",
    [
        (ValueError, nd.ones((1, 3, 3)), 1, (True, True)),
        (TypeError, nd.ones((1, 3, 3), dtype="uint8"), 1, ()),
        (TypeError, nd.ones((1, 3, 3)), nd.ones((1,)), ()),
        (ValueError, nd.ones((3, 3)), 1, ()),
        (ValueError, nd.ones((2, 1, 3, 3)), nd.ones((3,)), ()),
    ],
)
def test_what_cannot_be_turned(error, x, angle, zooms):
    with pytest.raises(error):
        image.imrotate(x, angle, *zooms)


def test_random_rotation():
    x = nd.array(RNG.rand(3, 1, 9, 9))
    numpy.random.seed(1)
    angles = numpy.random.uniform(-30, 30, size=3)
    numpy.random.seed(1)
    got = image.random_rotate(x, (-30, 30))
    numpy.testing.assert_array_equal(got.asnumpy(), image.imrotate(x, nd.array(angles)).asnumpy())
    assert image.random_rotate(x[0], (-30, 30)).shape == (1, 9, 9)


def test_transforms():
    x = nd.array(RNG.rand(1, 9, 9))
    numpy.testing.assert_array_equal(transforms.Rotate(40)(x).asnumpy(), image.imrotate(x, 40).asnumpy())
    never = transforms.RandomRotation((-30, 30), rotate_with_proba=0)
    assert never(x) is x
    always = transforms.RandomRotation((-30, 30), True)
    assert always(nd.ones((2, 1, 9, 9))).asnumpy().min() > 0.99
    chain = transforms.Compose([transforms.ToTensor(), transforms.RandomRotation((-5, 5))])
    assert chain(nd.ones((7, 8, 3), dtype="uint8")).shape == (3, 7, 8)


@pytest.mark.parametrize("transform", [transforms.Rotate(10), transforms.RandomRotation((0, 10))])
def test_transforms_want_float32(transform):
    with pytest.raises(TypeError, match="ToTensor"):
        transform(nd.ones((1, 3, 3), dtype="uint8"))


@pytest.mark.parametrize("limits, probability", [((10, 10), 1), ((0, 1), 1.1), ((0, 1), -0.1)])
def test_random_rotations_that_are_none(limits, probability):
    with pytest.raises(ValueError):
        transforms.RandomRotation(limits, rotate_with_proba=probability)
