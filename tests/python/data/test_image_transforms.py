"""Transforms that cut, resize, mirror and colour images."""

import random

import numpy
import pytest

from headrace import gluon, nd, np
from headrace import random as mx_random
from headrace.base import MXNetError
from headrace.gluon.data.vision import transforms

PIXELS = (numpy.arange(5 * 6 * 3) % 256).reshape(5, 6, 3).astype("uint8")


def image(mode, host=PIXELS):
    return (np if mode == "np" else nd).array(host, dtype=host.dtype)


@pytest.mark.parametrize(
    ("size", "interpolation", "wanted"),
    [
        ((2, 4), 1, [[5, 14], [28, 37], [50, 59], [73, 82]]),
        ((4, 3), 0, [[0, 3, 9, 12], [18, 21, 27, 30], [54, 57, 63, 66]]),
        ((4, 3), 2, [[5, 10, 15, 19], [37, 41, 46, 50], [68, 72, 77, 82]]),
        ((4, 3), 3, [[8, 12, 17, 21], [37, 41, 46, 50], [66, 70, 75, 79]]),
    ],
)
def test_resize_as_mxnet(mode, size, interpolation, wanted):
    resized = transforms.Resize(size, interpolation=interpolation)(image(mode))
    assert resized.dtype == numpy.uint8
    assert type(resized) is type(image(mode))
    # MXNet computes with integers: results in the middle between two numbers may differ.
    assert abs(resized.asnumpy()[:, :, 0].astype(int) - wanted).max() <= 1


def test_resize_of_floats_is_exact(mode):
    resized = transforms.Resize(4)(image(mode, PIXELS.astype("float32")))
    wanted = [[3, 7.5, 12, 16.5], [25.5, 30, 34.5, 39], [48, 52.5, 57, 61.5], [70.5, 75, 79.5, 84]]
    assert resized.dtype == numpy.float32
    assert resized.asnumpy()[:, :, 0].tolist() == wanted


@pytest.mark.parametrize("interpolation", [0, 1, 2, 3, 4])
def test_resize_keeps_constant_images(mode, interpolation):
    flat = image(mode, numpy.full((5, 6, 1), 77, "uint8"))
    for size in ((3, 9), (12, 2)):
        assert (transforms.Resize(size, False, interpolation)(flat).asnumpy() == 77).all()


def test_resize_shapes(mode):
    assert transforms.Resize(3)(image(mode)).shape == (3, 3, 3)
    assert transforms.Resize((2, 4))(image(mode)).shape == (4, 2, 3)
    assert transforms.Resize(10, keep_ratio=True)(image(mode)).shape == (10, 12, 3)
    upright = image(mode, numpy.ones((8, 4, 1), "uint8"))
    assert transforms.Resize(2, keep_ratio=True)(upright).shape == (4, 2, 1)
    assert transforms.Resize((6, 5))(image(mode)).asnumpy().tolist() == PIXELS.tolist()
    assert transforms.Resize(4)(image(mode, numpy.stack([PIXELS] * 2))).shape == (2, 4, 4, 3)


@pytest.mark.parametrize(
    ("transform", "error", "text"),
    [
        (transforms.Resize(3, interpolation=7), ValueError, "interp must be .* got 7"),
        (transforms.Resize(-1), ValueError, "a positive size is needed"),
        (transforms.Resize((1, 2, 3)), ValueError, r"one number or \(width, height\)"),
        (
            transforms.CropResize(4, 0, 3, 2),
            MXNetError,
            "crop: x \\+ width and y \\+ height must be at most 6 and 5",
        ),
    ],
)
def test_sizes_that_do_not_fit(mode, transform, error, text):
    with pytest.raises(error, match=text):
        transform(image(mode))


def test_only_images(mode):
    with pytest.raises(ValueError, match=r"Resize: expected an image .* got shape \(2, 2\)"):
        transforms.Resize(2)(image(mode, numpy.ones((2, 2))))
    with pytest.raises(ValueError, match=r"Resize.*: expected an array"):
        transforms.Resize(2)([1])


def test_crop_resize(mode):
    part = transforms.CropResize(1, 0, 3, 2)(image(mode))
    assert (part.asnumpy() == PIXELS[:2, 1:4]).all()
    batch = transforms.CropResize(1, 0, 3, 2)(image(mode, numpy.stack([PIXELS, PIXELS])))
    assert batch.shape == (2, 2, 3, 3)
    resized = transforms.CropResize(1, 0, 3, 2, (6, 4), 1)(image(mode)).asnumpy()[:, :, 0].astype(int)
    wanted = [[3, 4, 5, 7, 8, 9], [8, 8, 10, 11, 13, 14], [17, 17, 19, 20, 22, 23], [21, 22, 23, 25, 26, 27]]
    assert abs(resized - wanted).max() <= 1


def test_center_crop(mode):
    middle = transforms.CenterCrop((2, 3))(image(mode))
    assert (middle.asnumpy() == PIXELS[1:4, 2:4]).all()
    assert transforms.CenterCrop((8, 3))(image(mode)).shape == (3, 8, 3)
    assert transforms.CenterCrop(20)(image(mode)).shape == (20, 20, 3)


def test_random_resized_crop(mode):
    random.seed(0)
    shapes = {transforms.RandomResizedCrop((4, 2))(image(mode)).shape for _ in range(20)}
    assert shapes == {(2, 4, 3)}
    whole = transforms.RandomResizedCrop((6, 5), scale=(1, 1), ratio=(6 / 5, 6 / 5))(image(mode))
    assert (whole.asnumpy() == PIXELS).all()
    too_wide = transforms.RandomResizedCrop(3, scale=(1, 1), ratio=(9, 9))(image(mode))
    assert (too_wide.asnumpy() == transforms.CenterCrop(3)(image(mode)).asnumpy()).all()
    batch = transforms.RandomResizedCrop(4)(image(mode, numpy.stack([PIXELS, PIXELS]))).asnumpy()
    assert batch.shape == (2, 4, 4, 3) and (batch[0] == batch[1]).all()


@pytest.mark.parametrize(("kind", "axis"), [("RandomFlipLeftRight", 1), ("RandomFlipTopBottom", 0)])
def test_flips(mode, kind, axis):
    mx_random.seed(0)
    flip = getattr(transforms, kind)
    results = [flip()(image(mode)).asnumpy() for _ in range(30)]
    mirrored = numpy.flip(PIXELS, axis)
    flips = sum((result == mirrored).all() for result in results)
    assert 5 < flips < 25
    assert sum((result == PIXELS).all() for result in results) == 30 - flips
    assert (flip(1)(image(mode)).asnumpy() == mirrored).all()
    assert all((flip(0)(image(mode)).asnumpy() == PIXELS).all() for _ in range(20))
    often = sum((flip(0.9)(image(mode)).asnumpy() == mirrored).all() for _ in range(60))
    assert 40 < often < 60
    batch = flip(1)(image(mode, numpy.stack([PIXELS, PIXELS]))).asnumpy()
    assert (batch[1] == mirrored).all()


class TestColours:
    def test_ranges(self, mode):
        mx_random.seed(0)
        flat = image(mode, numpy.full((2, 2, 3), 100, "float32"))
        factors = [transforms.RandomBrightness(0.3)(flat).asnumpy()[0, 0, 0] / 100 for _ in range(50)]
        assert min(factors) >= 0.7 and min(factors) < 0.8 < 1.2 < max(factors) <= 1.3

    def test_saturation_of_integers(self, mode):
        mx_random.seed(1)
        bright = image(mode, numpy.full((1, 1, 3), 250, "uint8"))
        levels = [int(transforms.RandomBrightness(1)(bright).asnumpy().max()) for _ in range(20)]
        assert max(levels) == 255 and min(levels) < 250

    @pytest.mark.parametrize(
        "kind", ["RandomBrightness", "RandomContrast", "RandomSaturation", "RandomHue", "RandomLighting"]
    )
    def test_nothing_to_do(self, mode, kind):
        for host, most in ((PIXELS, 1), (PIXELS.astype("float32"), 1e-3)):  # integers lose their fractions
            out = getattr(transforms, kind)(0)(image(mode, host))
            assert out.dtype == host.dtype
            numpy.testing.assert_allclose(out.asnumpy().astype(float), host, atol=most)

    def test_contrast_keeps_the_mean(self, mode):
        gray = image(mode, numpy.arange(12, dtype="float32").reshape(3, 4, 1))
        out = transforms.RandomContrast(0.5)(gray).asnumpy()
        assert abs(out.mean() - 5.5) < 1e-4
        assert out.std() != pytest.approx(numpy.arange(12).std())

    def test_what_saturation_and_hue_keep(self, mode):
        colours = numpy.random.RandomState(0).rand(4, 5, 3).astype("float32") * 255
        luminance = numpy.array([0.299, 0.587, 0.114])
        out = transforms.RandomSaturation(0.5)(image(mode, colours)).asnumpy()
        numpy.testing.assert_allclose(out @ luminance, colours @ luminance, rtol=1e-4)
        assert abs(out - colours).max() > 1e-3
        out = transforms.RandomHue(0.5)(image(mode, colours)).asnumpy()
        numpy.testing.assert_allclose(out.max(-1) + out.min(-1), colours.max(-1) + colours.min(-1), rtol=1e-3)
        assert abs(out - colours).max() > 1e-3

    def test_jitter(self, mode):
        mx_random.seed(0)
        out = transforms.RandomColorJitter(0.4, 0.4, 0.4, 0.1)(image(mode))
        assert out.shape == PIXELS.shape and out.dtype == numpy.uint8
        assert (out.asnumpy() != PIXELS).any()
        assert (transforms.RandomColorJitter()(image(mode)).asnumpy() == PIXELS).all()

    def test_lighting_adds_one_colour(self, mode):
        out = transforms.RandomLighting(0.1)(image(mode, PIXELS.astype("float32"))).asnumpy()
        added = out - PIXELS
        numpy.testing.assert_allclose(added, numpy.broadcast_to(added[0, 0], added.shape), atol=1e-4)

    def test_gray(self, mode):
        out = transforms.RandomGray(1)(image(mode, PIXELS.astype("float32"))).asnumpy()
        assert (out == out[..., :1]).all()
        numpy.testing.assert_allclose(out[..., 0], PIXELS @ numpy.array([0.299, 0.587, 0.114]), rtol=1e-5)
        assert (transforms.RandomGray(0)(image(mode)).asnumpy() == PIXELS).all()
        with pytest.raises(ValueError, match="expected 1 or 3 channels"):
            transforms.RandomGray(1)(image(mode, numpy.ones((2, 2, 2))))

    def test_channels(self, mode):
        with pytest.raises(MXNetError, match="1 or 3 channels"):
            transforms.RandomContrast(0.1)(image(mode, numpy.ones((2, 2, 2))))


def test_random_apply(mode):
    always, never = (transforms.RandomApply(transforms.ToTensor(), p) for p in (1, 0))
    assert always(image(mode)).shape == (3, 5, 6)
    assert never(image(mode)).shape == (5, 6, 3)
    several = transforms.RandomApply([transforms.ToTensor(), transforms.Cast("float64")], 1)
    assert several(image(mode)).dtype == numpy.float64


RANDOM = [
    (transforms.RandomFlipLeftRight, ()),
    (transforms.RandomFlipTopBottom, ()),
    (transforms.RandomBrightness, (0.4,)),
    (transforms.RandomContrast, (0.4,)),
    (transforms.RandomSaturation, (0.4,)),
    (transforms.RandomHue, (0.2,)),
    (transforms.RandomColorJitter, (0.4, 0.3, 0.2, 0.1)),
    (transforms.RandomLighting, (0.1,)),
]


@pytest.mark.parametrize(("kind", "arguments"), RANDOM)
@pytest.mark.parametrize("images", [PIXELS, numpy.stack([PIXELS, PIXELS])])
def test_random_transforms_repeat_with_the_seed(mode, kind, arguments, images):
    eager, traced = kind(*arguments), gluon.nn.HybridSequential()
    traced.add(kind(*arguments))
    traced.hybridize()
    results = []
    for transform in (eager, eager, traced):
        mx_random.seed(5)
        results.append([transform(image(mode, images)).asnumpy() for _ in range(4)])
    numpy.testing.assert_array_equal(results[0], results[1])
    numpy.testing.assert_array_equal(results[0], results[2])


def test_seeds_give_the_numbers_of_the_operators(mode):
    mx_random.seed(3)
    transformed = transforms.RandomColorJitter(0.4, 0.3, 0.2, 0.1)(image(mode)).asnumpy()
    mx_random.seed(3)
    wanted = nd.image.random_color_jitter(image("nd"), 0.4, 0.3, 0.2, 0.1).asnumpy()
    numpy.testing.assert_array_equal(transformed, wanted)


def test_whole_batches():
    images = numpy.stack([PIXELS, PIXELS[::-1]])
    compose = transforms.Compose([transforms.Resize(4), transforms.CenterCrop(3), transforms.ToTensor()])
    kept = images.copy()
    whole = compose.batch_form()(images)
    assert (images == kept).all()
    single = numpy.stack([compose(nd.array(one, dtype="uint8")).asnumpy() for one in images])
    assert (whole == single).all()
    assert transforms.Compose([transforms.RandomHue(0.1)]).batch_form() is None


def test_hybrid_steps():
    chain = gluon.nn.HybridSequential()
    chain.add(
        transforms.ToTensor(), transforms.Normalize((0.1, 0.2, 0.3), (1, 2, 3)), transforms.Cast("float64")
    )
    x = nd.array(PIXELS, dtype="uint8")
    eager = chain(x).asnumpy()
    chain.hybridize()
    numpy.testing.assert_allclose(chain(x).asnumpy(), eager, rtol=1e-6)
    one = gluon.nn.HybridSequential()
    one.add(transforms.Normalize(0.5, 2))
    one.hybridize()
    numpy.testing.assert_allclose(one(nd.ones((1, 2, 2))).asnumpy(), 0.25)


def test_compositions_are_sequences_of_blocks():
    steps = transforms.Compose([transforms.Resize(4), transforms.ToTensor()])
    assert isinstance(steps, gluon.nn.Sequential) and len(steps) == 2
    assert isinstance(steps[1], transforms.ToTensor)
    cast = transforms.Cast("float64")
    chance = transforms.RandomApply(cast, p=1)
    assert isinstance(chance, gluon.nn.Sequential) and chance.transforms is cast
