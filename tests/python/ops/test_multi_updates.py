"""nd.contrib's updates of lists of weights do what the update of one weight does."""

import numpy as np
import pytest

import headrace as mx

LRS, WDS, ETAS, STEPS = [0.1, 0.2], [0.01, 0.02], [1.0, 0.5], [3, 4]


def arrays(seed, positive=False):
    rng = np.random.RandomState(seed)
    values = [rng.standard_normal(shape).astype("float32") for shape in ((2, 3), (4,))]
    return [mx.nd.array(np.abs(v) if positive else v) for v in values]


def lists():
    return arrays(0), arrays(1), arrays(2), arrays(3, positive=True)


def adamw(w, g, m, v, lr, wd, eta, rescale):
    g = rescale * g
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - eta * (lr * m / (np.sqrt(v) + 1e-8) + wd * w), m, v


def lamb(w, g, m, v, lr, wd, t):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    step = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6) + wd * w
    return w - lr * np.linalg.norm(w) / np.linalg.norm(step) * step, m, v


def check(changed, wanted, **tolerance):
    for one, two in zip(changed, wanted):
        np.testing.assert_allclose(one.asnumpy(), two, **{"rtol": 1e-5, "atol": 1e-6, **tolerance})


@pytest.mark.parametrize("rescale", [0.5, mx.nd.array([0.5])])
def test_adamw(rescale):
    w, g, m, v = lists()
    before = [a.asnumpy() for a in g]
    wanted = [adamw(*(a[i].asnumpy() for a in (w, g, m, v)), LRS[i], WDS[i], ETAS[i], 0.5) for i in range(2)]
    mx.nd.contrib.multi_adamw_update(w, g, m, v, rescale, LRS, WDS, ETAS, out=w)
    for i in range(2):
        check((w[i], m[i], v[i]), wanted[i])
    check(g, before)


def test_an_update_that_is_not_finite_is_left_out():
    w, g, m, v = lists()
    before = [a.asnumpy() for a in w]
    results = mx.nd.contrib.multi_adamw_update(w, g, m, v, float("inf"), LRS, WDS, ETAS)
    assert len(results) == 2
    check(results, before)
    for scale in (float("nan"), float("inf"), 0):
        gradient, unchanged = g[0], g[0].asnumpy()
        mx.nd.contrib.adamw_update(w[0], gradient, m[0], v[0], scale, 0.1, 1.0, out=w[0])
        check([gradient, w[0]], [unchanged, before[0]])


def test_adamw_of_one_weight_takes_a_number():
    w, g, m, v = (a[0] for a in lists())
    wanted = adamw(*(a.asnumpy() for a in (w, g, m, v)), 0.1, 0.0, 1.0, 0.5)
    check((mx.nd.contrib.adamw_update(w, g, m, v, 0.5, 0.1, 1.0), m, v), wanted)


def test_lamb():
    w, g, m, v = lists()
    wanted = [lamb(*(a[i].asnumpy() for a in (w, g, m, v)), LRS[i], WDS[i], STEPS[i]) for i in range(2)]
    mx.nd.contrib.multi_lamb_update(w, g, m, v, STEPS, LRS, WDS, out=w)
    for i in range(2):
        check((w[i], m[i], v[i]), wanted[i], rtol=1e-4)


def test_master_copies_are_updated_and_halved():
    for update, extra, formula in (
        (mx.nd.contrib.multi_mp_adamw_update, (0.5, LRS, WDS, ETAS), adamw),
        (mx.nd.contrib.multi_mp_lamb_update, (STEPS, LRS, WDS), lamb),
    ):
        w, g, m, v = lists()
        halves, grads = [a.astype("float16") for a in w], [a.astype("float16") for a in g]
        wanted = []
        for i in range(2):
            own = [a[i].asnumpy().astype("float32") for a in (w, grads, m, v)]
            more = (ETAS[i], 0.5) if formula is adamw else (STEPS[i],)
            wanted.append(formula(*own, LRS[i], WDS[i], *more)[0])
        update(halves, grads, m, v, w, *extra, out=halves)
        check(w, wanted, rtol=1e-4)
        check(halves, wanted, rtol=2e-3, atol=2e-3)
        assert halves[0].dtype == np.float16


def test_lists_of_unequal_length_are_refused():
    w, g, m, v = lists()
    with pytest.raises(mx.MXNetError, match="2 weights needs lists of that many entries"):
        mx.nd.contrib.multi_adamw_update(w, g, m, v, 1.0, [0.1], WDS, ETAS)
