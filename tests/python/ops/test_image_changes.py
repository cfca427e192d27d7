"""image.flip_*, image.random_* and image.adjust_lighting. Seeded numbers are those of MXNet 1.9.1."""

import numpy
import pytest

import headrace as hr
from headrace import autograd, nd, npx
from headrace.base import MXNetError

PIXELS = numpy.array(
    [[[10, 200, 30], [250, 40, 90]], [[0, 128, 255], [77, 78, 79]]],
    dtype="uint8",
)

FACTORS = {"min_factor": 0.5, "max_factor": 1.7}
SEEDED = {
    "random_brightness": (FACTORS, [10, 202, 30, 253, 40, 91, 0, 129, 255, 78, 79, 80]),
    "random_contrast": (FACTORS, [8, 201, 28, 252, 39, 89, 0, 128, 255, 76, 77, 78]),
    "random_hue": (
        {"min_factor": 0.1, "max_factor": 0.9},
        [154, 9, 200, 40, 250, 127, 255, 39, 0, 79, 77, 77],
    ),
    "random_color_jitter": (
        {"brightness": 0.3, "contrast": 0.3, "saturation": 0, "hue": 0.2},
        [117, 255, 0, 255, 23, 211, 0, 255, 228, 78, 80, 81],
    ),
    "random_lighting": ({"alpha_std": 0.5}, [0, 187, 17, 236, 27, 77, 0, 115, 242, 63, 65, 66]),
    "adjust_lighting": ({"alpha": (0.1, 0.2, -0.3)}, [7, 197, 25, 247, 37, 85, 0, 125, 250, 74, 75, 74]),
}
CHANGES = {
    **{name: options for name, (options, _) in SEEDED.items()},
    "random_saturation": FACTORS,
    "random_flip_left_right": {},
    "random_flip_top_bottom": {},
}


def pixels():
    return nd.array(PIXELS, dtype="uint8")


@pytest.mark.usefixtures("mt19937")
@pytest.mark.parametrize("name", SEEDED)
def test_seeded_changes_are_mxnets(name):
    options, expected = SEEDED[name]
    hr.random.seed(7)
    made = getattr(nd.image, name)(pixels(), **options).asnumpy()
    # One level: where a fraction is cut off, a last bit decides.
    numpy.testing.assert_allclose(made.ravel().astype(int), expected, atol=1)


@pytest.mark.usefixtures("mt19937")
def test_seeds_turn_the_images_that_they_turn_in_mxnet():
    stays = []
    for seed in range(8):
        hr.random.seed(seed)
        stays.append(numpy.array_equal(nd.image.random_flip_left_right(pixels()).asnumpy(), PIXELS))
    assert stays == [False, True, False, True, True, True, False, False]


def test_saturation_of_a_known_factor():
    x = nd.array(PIXELS, dtype="float32")
    made = nd.image.random_saturation(x, min_factor=0.25, max_factor=0.25).asnumpy()
    gray = PIXELS.astype(float) @ [0.299, 0.587, 0.114]
    numpy.testing.assert_allclose(made, PIXELS * 0.25 + gray[..., None] * 0.75, rtol=1e-5)


def test_a_full_turn_of_the_hue_changes_nothing():
    x = nd.array(PIXELS, dtype="float32")
    made = nd.image.random_hue(x, min_factor=1, max_factor=1).asnumpy()
    numpy.testing.assert_allclose(made, PIXELS, atol=1e-3)


@pytest.mark.parametrize("shape", [(3, 5, 3), (2, 3, 5, 1)])
def test_flips_reverse_rows_or_columns(shape):
    x = numpy.random.RandomState(0).uniform(0, 255, shape).astype("float32")
    numpy.testing.assert_array_equal(nd.image.flip_left_right(nd.array(x)).asnumpy(), numpy.flip(x, -2))
    numpy.testing.assert_array_equal(nd.image.flip_top_bottom(nd.array(x)).asnumpy(), numpy.flip(x, -3))
    seen = {npx.image.random_flip_top_bottom(hr.np.array(x)).asnumpy().tobytes() for _ in range(40)}
    assert seen == {x.tobytes(), numpy.ascontiguousarray(numpy.flip(x, -3)).tobytes()}


def test_images_of_a_batch_are_changed_alike_and_have_means_of_their_own():
    x = numpy.random.RandomState(0).uniform(0, 100, (2, 3, 4, 3)).astype("float32")
    x[1] += 100
    factor = {"min_factor": 0.5, "max_factor": 0.5}
    batch = nd.image.random_contrast(nd.array(x), **factor).asnumpy()
    single = [nd.image.random_contrast(nd.array(one), **factor).asnumpy() for one in x]
    numpy.testing.assert_allclose(batch, numpy.stack(single), rtol=1e-6)


@pytest.mark.parametrize("name", ["random_saturation", "random_hue", "random_lighting", "adjust_lighting"])
def test_gray_images_keep_their_values(name):
    x = nd.array(PIXELS[..., :1], dtype="uint8")
    numpy.testing.assert_array_equal(getattr(nd.image, name)(x, **CHANGES[name]).asnumpy(), PIXELS[..., :1])


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float16", "float64"])
def test_integers_stay_within_their_range(dtype):
    top = numpy.iinfo(dtype).max if numpy.dtype(dtype).kind in "iu" else 1000
    x = nd.array(numpy.full((2, 2, 3), top), dtype=dtype)
    made = nd.image.random_brightness(x, min_factor=2, max_factor=2)
    assert made.dtype == numpy.dtype(dtype)
    if numpy.dtype(dtype).kind in "iu":
        numpy.testing.assert_allclose(made.asnumpy().astype(float), float(top), rtol=1e-6)
    else:
        assert (made.asnumpy() == 2 * top).all()


@pytest.mark.parametrize("name", CHANGES)
def test_gradients_are_passed_on(name):
    x = nd.array(PIXELS, dtype="float32")
    x.attach_grad()
    with autograd.record():
        y = getattr(nd.image, name)(x, **CHANGES[name])
    head = nd.arange(12).reshape((2, 2, 3))
    y.backward(head)
    numpy.testing.assert_array_equal(x.grad.asnumpy(), head.asnumpy())


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("shape", [(4, 3), (2, 2, 2), (1, 1, 2, 2, 3)])
def test_other_shapes_are_refused(name, shape):
    with pytest.raises(MXNetError, match="channels"):
        getattr(nd.image, name)(nd.zeros(shape), **CHANGES[name])


def test_impossible_options_are_refused():
    with pytest.raises(MXNetError, match="min_factor"):
        nd.image.random_brightness(pixels(), min_factor=-1, max_factor=1)
    with pytest.raises(ValueError, match="three numbers"):
        nd.image.adjust_lighting(pixels(), alpha=(0.1, 0.2))
