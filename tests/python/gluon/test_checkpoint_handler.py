"""CheckpointHandler: which files there are after training once, again, and after going on."""

import logging

import numpy
import pytest

import headrace as mx
from headrace import gluon, nd
from headrace.gluon import nn
from headrace.gluon.contrib import estimator as est
from headrace.gluon.data import ArrayDataset, DataLoader


@pytest.fixture
def fit(tmp_path):
    """Trains for some epochs of two batches, and gives the checkpoints that are there."""

    def train(epochs, handler, net=None):
        if net is None:
            net = nn.Dense(2, in_units=3)
            net.initialize()
        estimator = est.Estimator(
            net,
            gluon.loss.SoftmaxCrossEntropyLoss(),
            trainer=gluon.Trainer(net.collect_params(), "sgd"),
            context=mx.cpu(),
        )
        estimator.logger.setLevel(logging.CRITICAL)
        data = DataLoader(ArrayDataset(nd.ones((4, 3)), nd.zeros((4,))), 2)
        estimator.fit(data, epochs=epochs, event_handlers=[handler])
        return sorted(path.stem for path in tmp_path.glob("*.params"))

    return train


def test_the_newest_checkpoints_stay(fit, tmp_path):
    handler = est.CheckpointHandler(str(tmp_path), max_checkpoints=2)
    assert fit(4, handler) == ["model-epoch2batch6", "model-epoch3batch8"]
    assert len(list(tmp_path.glob("*.states"))) == 2


def test_a_second_training_overwrites_the_first(fit, tmp_path):
    handler = est.CheckpointHandler(str(tmp_path), max_checkpoints=2)
    assert fit(2, handler) == fit(2, handler) == ["model-epoch0batch2", "model-epoch1batch4"]
    assert fit(1, handler) == ["model-epoch0batch2", "model-epoch1batch4"]


def test_checkpoints_of_the_training_that_is_gone_on_with_count(fit, tmp_path):
    def handler():
        return est.CheckpointHandler(str(tmp_path), max_checkpoints=2, resume_from_checkpoint=True)

    assert fit(3, handler()) == ["model-epoch1batch3", "model-epoch2batch5"]
    net = nn.Dense(2, in_units=3)
    net.initialize()
    files = fit(6, handler(), net)
    assert [file.split("batch")[0] for file in files] == ["model-epoch4", "model-epoch5"]
    saved = nd.load(str(tmp_path / f"{files[-1]}.params"))
    numpy.testing.assert_array_equal(saved["weight"].asnumpy(), net.weight.data().asnumpy())
