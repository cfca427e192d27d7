import numpy
import pytest

from headrace import gluon, nd, np
from headrace.gluon.data.vision.transforms import Cast, Compose, Normalize, ToTensor

PIXELS = numpy.arange(2 * 4 * 3, dtype="uint8").reshape(2, 4, 3)


def image(mode, host=PIXELS):
    return (np if mode == "np" else nd).array(host, dtype=host.dtype)


def test_to_tensor(mode):
    tensor = ToTensor()(image(mode))
    assert tensor.shape == (3, 2, 4)
    assert tensor.dtype == numpy.float32
    assert (tensor.asnumpy() == PIXELS.transpose(2, 0, 1) / numpy.float32(255)).all()
    batch = ToTensor()(image(mode, numpy.stack([PIXELS, PIXELS])))
    assert batch.shape == (2, 3, 2, 4)


def test_to_tensor_of_all_values_is_an_exact_quotient(mode):
    values = numpy.arange(256, dtype="uint8").reshape(1, 256, 1)
    wanted = values.reshape(1, 1, 256) / numpy.float32(255)
    assert (ToTensor()(image(mode, values)).asnumpy() == wanted).all()
    assert (ToTensor().batch_form()(values[numpy.newaxis])[0] == wanted).all()


def test_to_tensor_refuses_other_shapes(mode):
    with pytest.raises(ValueError, match=r"ToTensor: expected an image .* got shape \(2, 2\)"):
        ToTensor()(image(mode, numpy.ones((2, 2))))


def test_normalize(mode):
    host = numpy.random.RandomState(0).rand(3, 2, 2).astype("float32")
    mean, deviation = numpy.array([0.1, 0.2, 0.3], "float32"), numpy.array([1, 2, 3], "float32")
    wanted = (host - mean.reshape(3, 1, 1)) / deviation.reshape(3, 1, 1)
    normalize = Normalize(tuple(mean), tuple(deviation))
    result = normalize(image(mode, host))
    assert result.dtype == numpy.float32
    numpy.testing.assert_allclose(result.asnumpy(), wanted, rtol=1e-6)
    assert (normalize.batch_form()(numpy.stack([host, host]))[1] == wanted).all()
    assert normalize(image(mode, numpy.ones((5, 3, 2, 2), "float32"))).shape == (5, 3, 2, 2)
    assert normalize(image(mode, numpy.ones((3, 2, 2), "float64"))).dtype == numpy.float64
    assert Normalize(0.5, 2)(image(mode, host)).shape == (3, 2, 2)


@pytest.mark.parametrize(
    ("shape", "dtype", "error"),
    [((2, 2), "float32", ValueError), ((4, 2, 2), "float32", ValueError), ((3, 2, 2), "uint8", TypeError)],
)
def test_normalize_refuses(mode, shape, dtype, error):
    normalize = Normalize((0.1, 0.2, 0.3), (1, 2, 3))
    with pytest.raises(error, match="Normalize: expected"):
        normalize(image(mode, numpy.ones(shape, dtype)))
    with pytest.raises(error, match="Normalize: expected"):
        normalize.batch_form()(numpy.ones((2, *shape), dtype)[0])


def test_cast(mode):
    assert Cast("float64")(image(mode)).dtype == numpy.float64
    assert Cast()(image(mode)).dtype == numpy.float32


def test_compose(mode):
    compose = Compose([ToTensor(), Normalize(0.5, 2), Cast("float64")])
    assert isinstance(compose, gluon.Block)
    result = compose(image(mode))
    assert result.dtype == numpy.float64
    wanted = (PIXELS.transpose(2, 0, 1) / numpy.float32(255) - numpy.float32(0.5)) / 2
    numpy.testing.assert_allclose(result.asnumpy(), wanted, rtol=1e-6)
    assert (compose.batch_form()(PIXELS[numpy.newaxis])[0] == wanted).all()
    assert Compose([])(image(mode)).shape == PIXELS.shape


def test_compose_of_other_functions(mode):
    compose = Compose([ToTensor(), lambda x: x * 2])
    assert compose.batch_form() is None
    assert compose(image(mode)).asnumpy().max() == PIXELS.max() / numpy.float32(255) * 2
    assert "ToTensor" in repr(compose)
