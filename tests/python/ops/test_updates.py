"""Update operators that take rates as arrays, keep master copies or one history for a row."""

import numpy
import pytest

from headrace import nd
from headrace.base import MXNetError

RANDOM = numpy.random.RandomState(17)


def random(*shape, dtype="float32"):
    return RANDOM.uniform(0.5, 1.5, shape).astype(dtype)


@pytest.mark.parametrize("has_master", [False, True])
@pytest.mark.parametrize("momentum", [None, 0.9])
def test_preloaded_updates(has_master, momentum):
    rates, decays = numpy.array([0.1, 0.2]), numpy.array([0.0, 0.3])
    dtype = "float16" if has_master else "float32"
    expected, arrays = [], []
    for rate, decay in zip(rates, decays):
        w, g, m = random(2, 3), random(2, 3, dtype=dtype), random(2, 3)
        step = -rate * (decay * w + numpy.clip(0.5 * g.astype("float32"), -0.6, 0.6))
        step += momentum * m if momentum else 0
        expected.append((w + step, step))
        arrays += [nd.array(w, dtype=dtype), nd.array(g, dtype=dtype)]
        arrays += [nd.array(m)] if momentum else []
        arrays += [nd.array(w)] if has_master else []
    name = f"preloaded_multi_{'mp_' if has_master else ''}sgd_{'mom_' if momentum else ''}update"
    keywords = {"momentum": momentum} if momentum else {}
    results = getattr(nd, name)(
        *arrays,
        nd.array(rates),
        nd.array(decays),
        num_weights=2,
        rescale_grad=0.5,
        clip_gradient=0.6,
        **keywords,
    )
    each = len(arrays) // 2
    for i, (weight, step) in enumerate(expected):
        assert results[i].dtype == numpy.dtype(dtype)
        numpy.testing.assert_allclose(results[i].asnumpy(), weight, rtol=2e-3 if has_master else 1e-6)
        if momentum:
            numpy.testing.assert_allclose(arrays[each * i + 2].asnumpy(), step, rtol=1e-5, atol=1e-6)
        if has_master:
            numpy.testing.assert_allclose(arrays[each * (i + 1) - 1].asnumpy(), weight, rtol=1e-6)


def test_preloaded_updates_name_what_is_missing():
    w = nd.ones((2,))
    with pytest.raises(ValueError, match="2 weights need 4 arrays"):
        nd.preloaded_multi_sgd_update(w, w, w, w, nd.ones((1,)), nd.ones((1,)), num_weights=2)


@pytest.mark.parametrize("count", [-1, 0])
def test_preloaded_updates_need_a_weight(count):
    with pytest.raises((ValueError, MXNetError), match="num_weights"):
        nd.preloaded_multi_sgd_update(nd.ones((2,)), num_weights=count)


def test_lamb_with_a_master_copy():
    w, g, mean, var = random(3, 2), random(3, 2, dtype="float16"), random(3, 2), random(3, 2)
    m, v = 0.9 * mean + 0.1 * g.astype("float32"), 0.999 * var + 0.001 * g.astype("float32") ** 2
    arrays = [nd.array(one, dtype=one.dtype) for one in (w.astype("float16"), g, mean, var, w)]
    direction = nd.mp_lamb_update_phase1(*arrays, t=2, wd=0.1)
    expected = (m / (1 - 0.9**2)) / (numpy.sqrt(v / (1 - 0.999**2)) + 1e-6) + 0.1 * w
    assert direction.dtype == numpy.float32
    numpy.testing.assert_allclose(direction.asnumpy(), expected, rtol=1e-4)
    numpy.testing.assert_allclose(arrays[2].asnumpy(), m, rtol=1e-5)
    step = nd.mp_lamb_update_phase2(
        arrays[0], direction, nd.array([2.0]), nd.array([4.0]), arrays[4], lr=0.1, upper_bound=1.0
    )
    assert step.dtype == numpy.float16
    numpy.testing.assert_allclose(step.asnumpy(), w - 0.1 / 4 * expected, rtol=2e-3)


def test_multi_lars():
    rates = nd.multi_lars(
        nd.array([0.1, 0.2, 0.3]),
        nd.array([4.0, 0.0, 1.0]),
        nd.array([9.0, 1.0, 0.0]),
        nd.array([0.5, 0.5, 0.5]),
        eta=0.1,
        eps=0.01,
        rescale_grad=2,
    )
    expected = [0.1 * 0.1 * 2 / (3 * 2 + 0.5 * 2 + 0.01), 0.2, 0.3]
    numpy.testing.assert_allclose(rates.asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_adagrad_by_row_and_by_element(stype):
    w, g = random(3, 2), numpy.array([[1, -2], [0, 0], [0.5, 3]], "float32")
    for function, history, squares in (
        (nd.contrib.group_adagrad_update, random(3, 1), (0.25 * g**2).mean(1, keepdims=True)),
        (nd.sparse.adagrad_update, random(3, 2), 0.25 * g**2),
    ):
        weight, state = nd.array(w), nd.array(history)
        function(
            weight, nd.array(g).tostype(stype), state, lr=0.1, rescale_grad=0.5, epsilon=1e-5, out=weight
        )
        total = history + squares
        numpy.testing.assert_allclose(state.asnumpy(), total, rtol=1e-6)
        numpy.testing.assert_allclose(
            weight.asnumpy(), w - 0.1 * 0.5 * g / numpy.sqrt(total + 1e-5), rtol=1e-5
        )


def test_group_adagrad_names_what_does_not_fit():
    with pytest.raises(MXNetError, match="one for each row"):
        nd.contrib.group_adagrad_update(nd.ones((3, 2)), nd.ones((3, 2)), nd.ones((2, 1)), lr=0.1)
