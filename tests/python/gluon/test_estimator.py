"""Estimator: training, evaluation, the order of events, contexts, what it refuses."""

import io
import logging

import numpy
import pytest

import headrace as mx
from headrace import autograd, gluon
from headrace.gluon import nn
from headrace.gluon.contrib import estimator as est
from headrace.gluon.data import ArrayDataset, DataLoader

ROWS, BATCH = 10, 4
BATCHES = 3


def loader(array=mx.nd.array, rows=ROWS):
    numbers = numpy.random.RandomState(3).uniform(-1, 1, (rows, 3)).astype("float32")
    data = array(numbers), array(numbers @ numpy.array([[1], [-2], [3]], "float32"))
    return DataLoader(ArrayDataset(*data), BATCH)


def network():
    net = nn.Dense(1, in_units=3)
    net.initialize(mx.init.Constant(0.25))
    return net


def trainer_of(net, rate=0.1):
    return gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate})


def quiet(net=None, **kwargs):
    """An estimator that writes nothing."""
    net = net or network()
    if "trainer" not in kwargs:
        kwargs["trainer"] = trainer_of(net)
    made = est.Estimator(net, **{"loss": gluon.loss.L2Loss(), "context": mx.cpu()} | kwargs)
    made.logger.setLevel(logging.CRITICAL)
    return made


def weights(net):
    return numpy.concatenate([param.data().asnumpy().ravel() for param in net.collect_params().values()])


def by_hand(epochs, array=mx.nd.array):
    net = network()
    trainer, loss_of = trainer_of(net), gluon.loss.L2Loss()
    for _ in range(epochs):
        for data, label in loader(array):
            with autograd.record():
                loss = loss_of(net(data), label)
            loss.backward()
            trainer.step(data.shape[0])
    return weights(net)


class Recorder(est.TrainBegin, est.TrainEnd, est.EpochBegin, est.EpochEnd, est.BatchBegin, est.BatchEnd):
    """Writes down what it is told; `stops` are the numbers of the batch ends that it answers with True."""

    def __init__(self, log=None, name="", priority=0, stops=()):
        self.log = [] if log is None else log
        self.name = name
        self.priority = priority
        self.stops = stops
        self.batches = 0

    def _note(self, event):
        self.log.append(self.name + event)

    def train_begin(self, estimator, *args, **kwargs):
        self._note("(")

    def train_end(self, estimator, *args, **kwargs):
        self._note(")")

    def epoch_begin(self, estimator, *args, **kwargs):
        self._note("[")

    def epoch_end(self, estimator, *args, **kwargs):
        self._note("]")

    def batch_begin(self, estimator, *args, **kwargs):
        assert set(kwargs) == {"batch"}
        self._note("<")

    def batch_end(self, estimator, *args, **kwargs):
        assert set(kwargs) == {"batch", "pred", "label", "loss"}
        self._note(">")
        self.batches += 1
        return self.batches in self.stops


def test_fit_is_the_loop_that_it_stands_for(array):
    made = quiet()
    made.fit(loader(array), epochs=2)
    numpy.testing.assert_array_equal(weights(made.net), by_hand(2, array))
    assert (made.max_epoch, made.max_batch, made.batch_axis) == (2, None, 0)


def test_events_of_epochs_and_batches():
    recorder = Recorder()
    quiet().fit(loader(), epochs=2, event_handlers=recorder)
    assert "".join(recorder.log) == "([<><><>][<><><>])"
    recorder = Recorder()
    quiet().fit(loader(), batches=4, event_handlers=[recorder])
    assert "".join(recorder.log) == "([<><><>][<>])"
    recorder = Recorder()
    quiet().evaluate(loader(), event_handlers=recorder)
    assert "".join(recorder.log) == "[<><><>]"


def test_all_handlers_hear_of_a_batch_before_the_epoch_ends():
    log = []
    handlers = [Recorder(log, "b"), Recorder(log, "c", stops=[1]), Recorder(log, "a", priority=-1)]
    quiet().fit(loader(), epochs=1, event_handlers=handlers)
    batch_end = log.index("a>")
    assert log[batch_end : batch_end + 6] == ["a>", "b>", "c>", "a]", "b]", "c]"]


def test_a_stop_at_the_end_of_a_batch_ends_the_epoch_only():
    recorder = Recorder(stops=[1])
    quiet().fit(loader(), epochs=2, event_handlers=recorder)
    assert "".join(recorder.log) == "([<>][<><><>])"


def test_default_handlers_in_their_order():
    made = quiet()
    made.max_epoch = made.max_batch = None
    mine = Recorder()
    handlers = made._prepare_default_handlers(loader(), mine)
    assert [type(one) for one in handlers] == [
        est.GradientUpdateHandler,
        est.MetricHandler,
        est.ValidationHandler,
        Recorder,
        est.StoppingHandler,
        est.LoggingHandler,
    ]
    assert [one.priority for one in handlers] == [-2000, -1000, -1000, 0, 0, float("inf")]
    given = [est.MetricHandler(made.train_metrics), est.GradientUpdateHandler(priority=5)]
    handlers = made._prepare_default_handlers(None, given)
    assert [one for one in handlers if one in given] == given and len(handlers) == 4


def test_a_list_of_handlers_may_be_given_again():
    made, recorder = quiet(), Recorder()
    given = [recorder, est.StoppingHandler()]
    for _ in range(2):
        made.fit(loader(), batches=2, event_handlers=given)
    assert len(given) == 2 and "".join(recorder.log) == "([<><>])" * 2


def test_metrics_have_names_for_training_and_validation():
    made = quiet(loss=gluon.loss.SoftmaxCrossEntropyLoss())
    names = [metric.name for metric in made.train_metrics]
    assert names == ["training accuracy", "training softmaxcrossentropyloss"]
    assert [metric.name for metric in made.val_metrics] == [
        "validation accuracy",
        "validation softmaxcrossentropyloss",
    ]
    given = mx.metric.CompositeEvalMetric([mx.metric.MAE(), mx.metric.MSE()])
    made = quiet(train_metrics=given, val_metrics=mx.metric.RMSE())
    assert [metric.name for metric in made.train_metrics] == ["training mae", "training mse"]
    assert [metric.name for metric in made.val_metrics] == ["validation rmse"]


def test_metrics_are_those_of_the_last_epoch():
    made = quiet(trainer=trainer_of(net := network(), rate=0.0), net=net, train_metrics=mx.metric.MAE())
    made.fit(loader(), val_data=loader(rows=2), epochs=2)
    data, label = (x.asnumpy() for x in loader()._dataset[:])
    errors = numpy.abs(net(mx.nd.array(data)).asnumpy() - label)
    # The mean over batches, of which the last one is smaller.
    expected = numpy.mean([errors[i : i + BATCH].mean() for i in range(0, ROWS, BATCH)])
    assert made.train_metrics[0].get()[1] == pytest.approx(expected, rel=1e-5)
    assert made.val_metrics[0].get()[1] == pytest.approx(errors[:2].mean(), rel=1e-5)


def test_evaluation_with_a_network_and_a_loss_of_its_own():
    val_net = nn.HybridSequential()
    val_net.add(nn.HybridLambda(lambda F, x: F.sum(x, axis=1, keepdims=True) * 0))
    made = quiet(val_net=val_net, val_loss=gluon.loss.L1Loss())
    made.evaluate(loader(rows=BATCH))
    label = loader(rows=BATCH)._dataset[:][1].asnumpy()
    assert made.val_metrics[0].get() == (
        "validation l2loss",
        pytest.approx(numpy.abs(label).mean(), rel=1e-5),
    )
    assert made.train_metrics[0].num_inst == 0


def test_several_contexts_learn_what_one_learns():
    contexts = [mx.cpu(0), mx.cpu(1)]
    net = nn.Dense(1, in_units=3)
    net.initialize(mx.init.Constant(0.25), ctx=contexts)
    made = quiet(net, context=contexts)
    made.fit(loader(rows=8), epochs=2)
    alone = quiet()
    alone.fit(loader(rows=8), epochs=2)
    numpy.testing.assert_allclose(net.weight.data(contexts[1]).asnumpy(), alone.net.weight.data().asnumpy())


def test_batches_are_cut_along_an_axis():
    class Columns(est.BatchProcessor):
        """Notes the parts that it gets."""

        def fit_batch(self, estimator, train_batch, batch_axis=0):
            data, _ = self._get_data_and_label(train_batch, [mx.cpu(0), mx.cpu(1)], batch_axis)
            self.shapes = [part.shape for part in data]
            return super().fit_batch(estimator, train_batch, 0)

    data = DataLoader(ArrayDataset(mx.nd.ones((4, 6)), mx.nd.ones((4, 2))), 4)
    net = nn.Dense(2)
    net.initialize()
    made = quiet(net, trainer=trainer_of(net), batch_processor=Columns())
    made.fit(data, batches=1, batch_axis=1)
    assert made.batch_processor.shapes == [(4, 3), (4, 3)]


def test_what_is_not_given():
    net = nn.Dense(1, in_units=3)
    with pytest.warns(UserWarning, match="No trainer specified, default SGD"):
        made = est.Estimator(net, gluon.loss.L2Loss())
    assert made.trainer.learning_rate == 0.001
    assert net.weight.list_ctx() == made.context == [mx.cpu()]
    with pytest.warns(UserWarning, match="Network already fully initialized"):
        quiet(net, initializer=mx.init.One())
    assert isinstance(made.batch_processor, est.BatchProcessor)
    assert made.val_net is net and made.val_loss is made.loss


def test_what_is_initialized_already_stays():
    net = nn.Sequential()
    net.add(nn.Dense(3, in_units=3), nn.Dense(1, in_units=3))
    net[0].initialize(mx.init.Constant(7))
    with (
        pytest.warns(UserWarning, match="No trainer"),
        pytest.warns(UserWarning, match="already initialized"),
    ):
        quiet(net, initializer=mx.init.One(), trainer=None)
    assert net[0].weight.data().asnumpy().min() == 7 and net[1].weight.data().asnumpy().max() == 1


def test_the_logger_writes_to_standard_output(capsys):
    made = est.Estimator(network(), gluon.loss.L2Loss(), trainer=trainer_of(network()))
    made.logger.info("hello")
    assert capsys.readouterr().out == "hello\n"
    text = io.StringIO()
    made.logger.addHandler(logging.StreamHandler(text))
    made.logger.info("more")
    assert text.getvalue() == "more\n"


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"loss": "mse"}, ValueError, "loss must be a Loss"),
        ({"val_loss": "mse"}, ValueError, "val_loss must be a Loss"),
        ({"train_metrics": "acc"}, ValueError, "metrics must be a Metric"),
        ({"val_metrics": ["acc"]}, ValueError, "metrics must be a Metric"),
        ({"trainer": "sgd"}, ValueError, "Trainer must be a Gluon Trainer"),
        ({"context": "cpu"}, ValueError, "context must be a Context"),
        ({"context": [mx.cpu(), "cpu"]}, ValueError, "context must be a Context"),
        ({"context": mx.gpu(100)}, AssertionError, r"gpu\(100\) is not available"),
        ({"batch_processor": object()}, ValueError, "must contain fit_batch"),
    ],
)
def test_refused_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        quiet(**arguments)


@pytest.mark.parametrize("length", [{}, {"epochs": 1, "batches": 1}, {"epochs": -1}, {"batches": 0}])
def test_one_kind_of_length_is_needed(length):
    with pytest.raises(ValueError, match="exactly one type of iteration"):
        quiet().fit(loader(), **length)


def test_refused_data_and_handlers():
    made = quiet()
    with pytest.raises(ValueError, match="Gluon DataLoader, got list as train_data"):
        made.fit([mx.nd.ones((2, 3))], epochs=1)
    with pytest.raises(ValueError, match="Gluon DataLoader, got NDArrayIter as val_data"):
        made.evaluate(mx.io.NDArrayIter(mx.nd.ones((2, 3)), mx.nd.ones(2)))
    with pytest.raises(ValueError, match="handlers must be an EventHandler"):
        made.fit(loader(), epochs=1, event_handlers=[print])
    with pytest.raises(ValueError, match="LoggingHandler refers to a metric instance"):
        made.fit(loader(), epochs=1, event_handlers=est.LoggingHandler(metrics=mx.metric.MAE()))
    with pytest.raises(ValueError, match="outside of the known"):
        made.evaluate(loader(), event_handlers=est.LoggingHandler(metrics=made.train_metrics))
    with pytest.raises(ValueError, match="has no batches"):
        made.fit(DataLoader([], 1), batches=1)


def test_programs_look_for_names_in_these_modules():
    from headrace.gluon.contrib.estimator.event_handler import EventHandler
    from headrace.gluon.contrib.estimator.utils import _check_metrics

    assert issubclass(est.BatchEnd, EventHandler)
    metric = mx.metric.MAE()
    assert _check_metrics(metric) == [metric] and _check_metrics(None) == []
