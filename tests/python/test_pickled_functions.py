"""Functions of operators in copies and pickles: of networks that hold them, and for other processes."""

import copy
import pickle

import pytest

from headrace import _catalogue, gluon, nd, sym


class Activated(gluon.nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.dense = gluon.nn.Dense(3, in_units=2)
        self.activation = nd.relu

    def forward(self, x):
        return self.activation(self.dense(x))


@pytest.mark.parametrize("prefix", ["nd", "np", "npx", "np.linalg", "nd.linalg"])
def test_functions_are_found_again(prefix):
    for function in _catalogue.functions(prefix).values():
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function


def test_functions_on_symbols_stay_such():
    twin = pickle.loads(pickle.dumps(sym.relu))
    assert isinstance(twin(sym.var("x")), sym.Symbol)
    assert repr(twin) == repr(sym.relu)


def test_methods_go_with_their_arrays():
    assert (pickle.loads(pickle.dumps(nd.NDArray.sum))(nd.array([1, 2])) == 3).asscalar()


def test_networks_that_hold_functions_are_copied():
    net = Activated()
    net.initialize()
    x = nd.array([[1.0, -2.0]])
    twin = copy.deepcopy(net)
    assert (twin(x) == net(x)).asnumpy().all()
    assert twin.activation is nd.relu
