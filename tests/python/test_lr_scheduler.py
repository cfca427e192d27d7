"""Learning-rate schedules."""

import logging
import math

import pytest

from headrace import lr_scheduler as lrs


def rates(scheduler, updates):
    return [scheduler(n) for n in updates]


def test_factor():
    scheduler = lrs.FactorScheduler(step=2, factor=0.5, base_lr=1.0, stop_factor_lr=0.2)
    assert rates(scheduler, range(9)) == [1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.2, 0.2]


def test_factor_catches_up():
    assert lrs.FactorScheduler(step=2, factor=0.5, base_lr=1.0)(5) == 0.25


def test_multi_factor():
    scheduler = lrs.MultiFactorScheduler(step=[2, 5], factor=0.1, base_lr=1.0)
    assert rates(scheduler, range(1, 8)) == pytest.approx([1, 1, 0.1, 0.1, 0.1, 0.01, 0.01])


def test_changes_are_logged(caplog):
    caplog.set_level(logging.INFO)
    rates(lrs.FactorScheduler(2, 0.1, stop_factor_lr=1e-3, base_lr=0.1), range(1, 9))
    rates(lrs.MultiFactorScheduler([3], 0.5, base_lr=1.0), range(1, 6))
    assert [record.getMessage() for record in caplog.records] == [
        "Update[3]: Change learning rate to 1.00000e-02",
        "Update[5]: Change learning rate to 1.00000e-03",
        "Update[7]: now learning rate arrived at 1.00000e-03, will not change in the future",
        "Update[4]: Change learning rate to 5.00000e-01",
    ]


def test_poly():
    scheduler = lrs.PolyScheduler(max_update=4, base_lr=1.0, pwr=2, final_lr=0.2)
    expected = [0.2 + 0.8 * (1 - n / 4) ** 2 for n in range(5)]
    assert rates(scheduler, range(7)) == pytest.approx([*expected, 0.2, 0.2])


def test_cosine():
    scheduler = lrs.CosineScheduler(max_update=4, base_lr=1.0, final_lr=0.2)
    expected = [0.2 + 0.4 * (1 + math.cos(math.pi * n / 4)) for n in range(5)]
    assert rates(scheduler, range(6)) == pytest.approx([*expected, 0.2])


@pytest.mark.parametrize(
    "make",
    [
        lambda **kwargs: lrs.FactorScheduler(step=100, **kwargs),
        lambda **kwargs: lrs.MultiFactorScheduler(step=[100], **kwargs),
        lambda **kwargs: lrs.PolyScheduler(max_update=100, **kwargs),
        lambda **kwargs: lrs.CosineScheduler(max_update=100, **kwargs),
    ],
)
def test_warmup(make):
    linear = make(base_lr=1.0, warmup_steps=4, warmup_begin_lr=0.2)
    assert rates(linear, range(5)) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    constant = make(base_lr=1.0, warmup_steps=4, warmup_begin_lr=0.2, warmup_mode="constant")
    assert rates(constant, range(5)) == pytest.approx([0.2, 0.2, 0.2, 0.2, 1.0])


def test_decay_counts_from_the_end_of_the_warmup():
    scheduler = lrs.CosineScheduler(max_update=8, base_lr=1.0, warmup_steps=4)
    assert scheduler(6) == pytest.approx(0.5)


ERRORS = [
    (lambda: lrs.FactorScheduler(step=0), ValueError, "Schedule step must be greater"),
    (lambda: lrs.FactorScheduler(step=1, factor=1.5), ValueError, "Factor must be no more than 1"),
    (lambda: lrs.MultiFactorScheduler(step=[5, 2]), ValueError, "increasing"),
    (lambda: lrs.MultiFactorScheduler(step=[2, 2]), ValueError, "increasing"),
    (lambda: lrs.MultiFactorScheduler(step=[0, 2]), ValueError, "Schedule step must be greater"),
    (lambda: lrs.MultiFactorScheduler(step=[2], factor=2), ValueError, "Factor must be no more than 1"),
    (lambda: lrs.MultiFactorScheduler(step=3), AssertionError, "list"),
    (lambda: lrs.PolyScheduler(max_update=0), ValueError, "strictly positive"),
    (lambda: lrs.CosineScheduler(max_update=1.5), AssertionError, "int"),
    (lambda: lrs.LRScheduler(warmup_begin_lr=1), ValueError, "warmup_begin_lr"),
    (lambda: lrs.LRScheduler(warmup_steps=-1), ValueError, "positive or 0"),
    (lambda: lrs.LRScheduler(warmup_mode="cubic"), ValueError, "linear and constant"),
    (lambda: lrs.LRScheduler()(1), NotImplementedError, "must define"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    act, error, text = ERRORS[case]
    with pytest.raises(error, match=text):
        act()
