import numpy
import pytest

from headrace.gluon.contrib.data import IntervalSampler
from headrace.gluon.data import (
    BatchSampler,
    FilterSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SplitSampler,
)


def test_sequential_sampler_counts_from_start():
    assert list(SequentialSampler(3)) == [0, 1, 2]
    assert list(SequentialSampler(3, 5)) == [5, 6, 7]
    assert len(SequentialSampler(3, 5)) == 3


def test_random_sampler_follows_the_seed_of_numpy():
    numpy.random.seed(3)
    assert list(RandomSampler(8)) == [5, 7, 4, 6, 3, 1, 0, 2]  # as MXNet 1.9.1 gives
    again = RandomSampler(100)
    assert list(again) != list(again)
    assert sorted(again) == list(range(100))
    assert len(again) == 100


@pytest.mark.parametrize(
    ("length", "num_parts", "parts", "even"),
    [
        (6, 2, [[0, 1, 2], [3, 4, 5]], [[0, 1, 2], [3, 4, 5]]),
        (5, 3, [[0, 1], [2, 3], [4]], [[0, 1], [2, 3], [4, 0]]),
        (2, 3, [[0], [1], []], [[0], [1], [0]]),
        (0, 2, [[], []], [[], []]),
    ],
)
def test_split_sampler(length, num_parts, parts, even):
    for even_size, expected in ((False, parts), (True, even)):
        samplers = [SplitSampler(length, num_parts, part, even_size) for part in range(num_parts)]
        assert [sorted(sampler) for sampler in samplers] == [sorted(part) for part in expected]
        assert [len(sampler) for sampler in samplers] == [len(part) for part in expected]
        plain = [SplitSampler(length, num_parts, part, even_size, shuffle=False) for part in range(num_parts)]
        assert [list(sampler) for sampler in plain] == expected


def test_split_sampler_draws_another_order_each_time():
    sampler = SplitSampler(100, 2, 1)
    assert list(sampler) != list(sampler)
    with pytest.raises(ValueError, match="from 0 to num_parts - 1, got 2 of 2"):
        SplitSampler(100, 2, 2)


def test_filter_sampler():
    sampler = FilterSampler(lambda item: item > 4, [3, 9, 5, 1])
    assert list(sampler) == [1, 2]
    assert len(sampler) == 2


@pytest.mark.parametrize(
    ("last_batch", "batches"),
    [
        ("keep", [[0, 1, 2], [3, 4, 5], [6]]),
        ("discard", [[0, 1, 2], [3, 4, 5]]),
        ("rollover", [[0, 1, 2], [3, 4, 5]]),
    ],
)
def test_batch_sampler(last_batch, batches):
    sampler = BatchSampler(SequentialSampler(7), 3, last_batch)
    assert len(sampler) == len(batches)
    assert list(sampler) == batches


def test_rollover_goes_on_with_what_was_left():
    sampler = BatchSampler(SequentialSampler(10), 3, "rollover")
    rounds = [(len(sampler), list(sampler)) for _ in range(3)]
    assert rounds == [
        (3, [[0, 1, 2], [3, 4, 5], [6, 7, 8]]),
        (3, [[9, 0, 1], [2, 3, 4], [5, 6, 7]]),
        (4, [[8, 9, 0], [1, 2, 3], [4, 5, 6], [7, 8, 9]]),
    ]


def test_rollover_with_fewer_items_than_one_batch():
    sampler = BatchSampler(SequentialSampler(2), 5, "rollover")
    assert [list(sampler) for _ in range(3)] == [[], [], [[0, 1, 0, 1, 0]]]


def test_batch_sampler_of_nothing():
    assert list(BatchSampler(SequentialSampler(0), 3)) == []


def test_batch_sampler_refuses_other_words_and_sizes():
    sampler = BatchSampler(SequentialSampler(7), 3, "half")
    with pytest.raises(ValueError, match="last_batch must be one of .* but got half"):
        list(sampler)
    with pytest.raises(ValueError, match="last_batch must be one of"):
        len(sampler)
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        BatchSampler(SequentialSampler(7), 0)


@pytest.mark.parametrize(
    ("rollover", "numbers"),
    [(True, [0, 3, 6, 9, 12, 1, 4, 7, 10, 2, 5, 8, 11]), (False, [0, 3, 6, 9, 12])],
)
def test_interval_sampler(rollover, numbers):
    sampler = IntervalSampler(13, 3, rollover=rollover)
    assert list(sampler) == numbers
    assert len(sampler) == len(numbers)


def test_interval_larger_than_length():
    with pytest.raises(AssertionError, match="Interval 4 must be smaller than or equal to length 3"):
        IntervalSampler(3, 4)


def test_sampler_is_abstract():
    with pytest.raises(NotImplementedError):
        iter(Sampler())
    with pytest.raises(NotImplementedError):
        len(Sampler())


def test_a_batch_size_may_be_a_float():
    sampler = BatchSampler(SequentialSampler(5), 2.0, "keep")
    assert list(sampler) == [[0, 1], [2, 3], [4]] and len(sampler) == 3
