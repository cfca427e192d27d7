"""Candidate sampling, for arrays and symbols alike."""

import math

__all__ = ["rand_zipfian"]


def rand_zipfian(uniform, true_classes, num_sampled, range_max, **where):
    """`rand_zipfian` of the front end whose `random.uniform` is given; `where` says on which device numbers
    are drawn.
    """
    log_range = math.log(range_max + 1)

    def expected_count(classes):
        return ((classes + 2) / (classes + 1)).log() / log_range * num_sampled

    drawn = uniform(0, log_range, shape=(num_sampled,), dtype="float64", **where)
    sampled = (drawn.exp() - 1).astype("int64") % range_max
    return (
        sampled,
        expected_count(true_classes.astype("float64")),
        expected_count(sampled.astype("float64")),
    )
