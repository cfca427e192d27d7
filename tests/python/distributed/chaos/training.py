"""What workers train, and what comes of a gradient on its way: for them, and for who checks what they did."""

import numpy

SIZES = (3, 1000, 20_000)  # of the arrays of the keys 0, 1 and 2
ROWS = (60, 5)  # the shape of key 3, a row_sparse array
RATE = 0.01
THRESHOLD = 0.5  # of compression


def shapes_of(settings):
    """By key."""
    return [(size,) for size in SIZES] + [ROWS] * settings["rows"]


def is_sparse(key):
    return key == len(SIZES)


def optimizer_of(settings):
    from headrace import optimizer

    more = {"momentum": 0.9} if settings["optimizer"] == "sgd" else {}
    return optimizer.create(settings["optimizer"], learning_rate=RATE, **more)


def gradient(settings, rank, key, step):
    shape = shapes_of(settings)[key]
    count = int(numpy.prod(shape))
    values = numpy.sin(numpy.arange(count) + 3 * key + 7 * rank + step).astype("float32").reshape(shape)
    if [rank, key, step] == settings["nan"]:
        values[0] = numpy.nan
    return values


def rows_of(rank, step):
    """Those that the gradient of key 3 has; none, now and then."""
    return numpy.arange((rank + 2 * step) % 7, ROWS[0] if step % 7 != 6 else 0, 3 + step % 5)


def array_of(key, values, rows):
    """As it is pushed."""
    from headrace import nd

    if not is_sparse(key):
        return nd.array(values)
    return nd.sparse.row_sparse_array((values[rows], rows), shape=ROWS)


def zeros(key, shape):
    from headrace import nd

    return nd.zeros(shape, stype="row_sparse") if is_sparse(key) else nd.zeros(shape)


class Residual:
    """What compression has left out of the gradients of one worker for one key."""

    def __init__(self):
        self._left = numpy.float32(0)

    def sent_of(self, values):
        left = self._left + values
        sent = numpy.where(left >= THRESHOLD, THRESHOLD, numpy.where(left <= -THRESHOLD, -THRESHOLD, 0))
        sent = sent.astype("float32")
        self._left = left - sent
        return sent
