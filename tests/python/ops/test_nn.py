"""Dropout."""

import numpy
import pytest

import headrace as mx
from headrace import autograd, nd, np, npx


@pytest.fixture(params=["philox", "mt19937"], autouse=True)
def generator(request):
    mx.random.set_generator(request.param)
    yield
    mx.random.set_generator("philox")


def test_drops_while_training_and_scales_what_stays():
    x = np.ones((400, 100))
    x.attach_grad()
    with autograd.record():
        y = npx.dropout(x, p=0.25)
    y.backward()
    values = y.asnumpy()
    assert set(numpy.unique(values)) == {0, numpy.float32(1 / 0.75)}
    assert abs((values == 0).mean() - 0.25) < 0.02
    numpy.testing.assert_array_equal(x.grad.asnumpy(), values)


@pytest.mark.parametrize("p, recording", [(0.5, False), (0.0, True)])
def test_is_the_identity_otherwise(p, recording):
    x = nd.array([1.0, -2.0, 3.0])
    with autograd.record() if recording else autograd.predict_mode():
        numpy.testing.assert_array_equal(nd.Dropout(x, p=p).asnumpy(), x.asnumpy())


def test_mode_always_drops_in_prediction():
    assert (nd.Dropout(nd.ones((1000,)), p=0.5, mode="always").asnumpy() == 0).any()


def test_everything_goes_with_p_1():
    with autograd.train_mode():
        assert (nd.Dropout(nd.array([1.0, numpy.inf]), p=1).asnumpy() == 0).all()


def test_axes_share_one_choice():
    with autograd.train_mode():
        values = nd.Dropout(nd.ones((50, 4, 6)), p=0.5, axes=(1,)).asnumpy()
    numpy.testing.assert_array_equal(values, numpy.broadcast_to(values[:, :1], values.shape))
    assert (values[:, 0] == 0).any() and (values[:, 0] != 0).any()


def test_empty_array():
    with autograd.train_mode():
        assert nd.Dropout(nd.array([])).shape == (0,)
