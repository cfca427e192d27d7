"""Classes that programs derive from: their methods are called as MXNet calls them."""

import numpy
import pytest

from headrace import io, kv, metric, module, nd, optimizer, sym
from headrace.gluon import loss, nn, rnn


def test_children_that_override_hybridize():
    class Doubled(nn.HybridBlock):
        def hybridize(self, active=True, **options):
            super().hybridize(active, **options)

        def hybrid_forward(self, F, x):
            return x * 2

    net = nn.HybridSequential()
    net.add(Doubled())
    net.hybridize(static_alloc=True)
    assert net(nd.ones((2,))).asnumpy().tolist() == [2, 2]


def test_metrics_that_override_how_they_forget():
    class OneWay(metric.EvalMetric):
        def reset_local(self):
            self.reset()

    class WithList(metric.EvalMetric):
        def __init__(self):
            super().__init__("with_list")
            self.seen = []

        def reset_local(self):
            self.seen.clear()
            super().reset_local()

    assert OneWay("one").num_inst == 0
    assert WithList().seen == []


@pytest.mark.parametrize("make", [metric.F1, metric.MCC, metric.PCC])
def test_counting_metrics_begin_again(make):
    measure = make()
    measure.update([nd.array([0, 1])], [nd.array([[0.2, 0.8], [0.1, 0.9]])])
    measure.reset()
    measure.update([nd.array([0, 1])], [nd.array([[0.8, 0.2], [0.1, 0.9]])])
    assert measure.get()[1] == pytest.approx(1)


def test_iterators_that_override_reset():
    class Counting(io.NDArrayIter):
        def reset(self):
            self.seen = 0
            super().reset()

        def next(self):
            self.seen += 1
            return super().next()

    assert len(list(Counting(numpy.ones((4, 2)), None, 2))) == 2


def test_updaters_that_take_one_parameter_at_a_time():
    class Noting(optimizer.Updater):
        def __init__(self, of_optimizer):
            super().__init__(of_optimizer)
            self.keys = []

        def __call__(self, index, grad, weight):
            self.keys.append(index)
            super().__call__(index, grad, weight)

    updater = Noting(optimizer.SGD(learning_rate=1))
    store = kv.create("local")
    store.init(3, nd.ones((2,)))
    store._set_updater(updater)
    store.push(3, nd.ones((2,)))
    out = nd.zeros((2,))
    store.pull(3, out)
    assert updater.keys == [3] and out.asnumpy().tolist() == [0, 0]


def test_modules_whose_methods_take_keywords():
    class Open(module.Module):
        def bind(self, **options):
            super().bind(**options)

        def init_params(self, **options):
            super().init_params(**options)

        def init_optimizer(self, **options):
            super().init_optimizer(**options)

        def prepare(self, batch, **options):
            super().prepare(batch, **options)

    net = sym.SoftmaxOutput(sym.FullyConnected(sym.var("data"), num_hidden=2), name="softmax")
    batches = io.NDArrayIter(numpy.ones((4, 3)), numpy.zeros(4), 2)
    trained = Open(net)
    trained.fit(batches, eval_data=batches, num_epoch=1)
    trained.set_params(*trained.get_params())
    assert trained.score(batches, "acc")[0][1] == 1


def test_cells_whose_unroll_takes_keywords():
    class Open(rnn.RNNCell):
        def unroll(self, length, **options):
            return super().unroll(length, **options)

    for stack in (rnn.SequentialRNNCell(), rnn.HybridSequentialRNNCell()):
        stack.add(Open(3, input_size=2))
        stack.initialize()
        assert stack.unroll(4, nd.ones((1, 4, 2)), merge_outputs=True)[0].shape == (1, 4, 3)
    both = rnn.BidirectionalCell(Open(3, input_size=2), Open(3, input_size=2))
    both.initialize()
    assert both.unroll(4, nd.ones((1, 4, 2)), merge_outputs=True)[0].shape == (1, 4, 6)


def test_attributes_of_programs_are_their_own():
    class OverGraph(nn.HybridBlock):
        def __init__(self, graph):
            super().__init__()
            self._graph = graph
            self.dense = nn.Dense(2, in_units=2, weight_initializer="ones")

        def _run_graph(self, x):
            return x * self._graph

        def hybrid_forward(self, F, x):
            return self.dense(self._run_graph(x))

    net = OverGraph(3)
    net.initialize()
    for _ in range(2):
        assert net(nd.ones((1, 2))).asnumpy().tolist() == [[6, 6]]
        net.hybridize()

    class Narrow(loss.L2Loss):
        def _mean(self, x):
            return x.mean()

    assert Narrow()(nd.ones((2, 2)), nd.zeros((2, 2))).asnumpy().tolist() == [0.5, 0.5]
