"""Results that may be changed: what is no view in NumPy has memory of its own, whatever its arguments are."""

import pytest

from headrace import autograd, gluon, init, nd, np, npx, util


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: npx.dropout(x, p=0.5),
        lambda x: npx.dropout(x, p=0, mode="always"),
        lambda x: np.roll(x, 3),
        lambda x: np.roll(x, (0, 3), axis=(0, 0)),
        lambda x: np.pad(x, ((0, 0),), mode="mean"),
        lambda x: +x,
    ],
)
def test_results_that_equal_their_argument_are_copies(operation):
    x = np.arange(3.0)
    operation(x)[:] = 9
    assert x.asnumpy().tolist() == [0, 1, 2]
    x.attach_grad()
    with autograd.record(train_mode=False):
        y = operation(x * 2) * 3
    y.backward()
    assert x.grad.asnumpy().tolist() == [6, 6, 6]


@util.use_np
def test_blocks_that_change_what_dropout_gives_compute_the_same_hybridized():
    class Changes(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dropout = gluon.nn.Dropout(0.5)

        def forward(self, x):
            h = self.dropout(x)
            h += 1
            return h + x

    assert Changes()(np.ones(3)).asnumpy().tolist() == [3, 3, 3]


@util.use_np
def test_parameters_do_not_change_with_what_dropout_gives():
    parameter = gluon.Parameter("weight", shape=(3,))
    parameter.initialize(init.One())
    dropped = npx.dropout(parameter.data(), p=0.5)
    dropped *= 0
    assert parameter.data().asnumpy().tolist() == [1, 1, 1]


def test_results_that_are_given_into_memory_of_others():
    x = nd.arange(4)
    nd.split(x, num_outputs=2, axis=0, out=[x[2:4], x[0:2]])
    assert x.asnumpy().tolist() == [2, 3, 0, 1]
    a, b = nd.arange(3), nd.arange(3) + 10
    nd.amp_multicast(a, b, num_outputs=2, out=[b, a])
    assert (a.asnumpy().tolist(), b.asnumpy().tolist()) == ([10, 11, 12], [0, 1, 2])
