"""LARS: its momentum beside the rate, and its states."""

import numpy

from headrace import lr_scheduler, nd, optimizer

RNG = numpy.random.default_rng(7)


def test_lars_momentum_follows_the_rate():
    schedule = lr_scheduler.MultiFactorScheduler(step=[1], factor=0.5, base_lr=0.1)
    opt = optimizer.create("lars", momentum=0.9, eta=1, lr_scheduler=schedule)
    updater, weight, expected, m = optimizer.get_updater(opt), nd.array([1, -2]), numpy.array([1.0, -2.0]), 0
    for rate, correction in ((0.1, 1), (0.05, 0.5), (0.05, 1)):
        grad = RNG.standard_normal(2)
        updater(0, nd.array(grad), weight)
        trust = numpy.linalg.norm(expected) / numpy.linalg.norm(grad)
        m = 0.9 * correction * m - rate * trust * grad
        expected = expected + m
        numpy.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-4)


def test_lars_goes_on_where_the_schedule_ends_at_0():
    schedule = lr_scheduler.PolyScheduler(2, base_lr=0.1)
    updater, weight = (
        optimizer.get_updater(optimizer.LARS(momentum=0.9, lr_scheduler=schedule)),
        nd.array([1, 2]),
    )
    for _ in range(4):
        updater(0, nd.array([0.3, 0.1]), weight)
    assert numpy.isfinite(weight.asnumpy()).all()


def test_lars_keeps_float32_copies_behind_the_momentum():
    weight = nd.array([1, 2], dtype="float16")
    opt = optimizer.LARS(momentum=0.9, multi_precision=True)
    momentum, master = opt.create_state_multi_precision(0, weight)
    assert momentum.asnumpy().tolist() == [0, 0] and master.asnumpy().tolist() == [1, 2]
    opt.update_multi_precision(0, weight, nd.array([1, 1], dtype="float16"), (momentum, master))
    assert momentum.asnumpy().any() and (master.asnumpy() < [1, 2]).all()
