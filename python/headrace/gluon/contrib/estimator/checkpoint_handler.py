"""Checkpoints: the files of a training, and going on from them."""

import os
import re

from .early_stopping import check_monitor, comparison, value_of, worst
from .events import BatchEnd, EpochEnd, TrainBegin

__all__ = ["CheckpointHandler"]


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Saves parameters and the trainer's states every `epoch_period` epochs and every `batch_period` batches;
    None: not.

    Files in `model_dir`, which is made if need be:

    - `{model_prefix}-epoch{E}batch{B}.params` and `.states`, of which the last `max_checkpoints` are kept;
    - `{model_prefix}-best.params` and `.states` with `save_best`: those with the best value of the metric
      `monitor` at a checkpoint (`mode` as of EarlyStoppingHandler);
    - `{model_prefix}-symbol.json` after the first batch, if the network is hybridized.

    With `resume_from_checkpoint`, `fit` loads the last checkpoint, if there is one, and trains what remains
    of its epochs or batches. AssertionError: checkpoints are not counted as `fit` counts, in epochs or in
    batches alone. ValueError: nothing remains, or a file's name is not of that form.

    `verbose=1` logs each checkpoint. ValueError: `save_best` without a metric, or with a composite one.

    Examples
    --------
    >>> import os, tempfile, types
    >>> from headrace.gluon.contrib import estimator
    >>> folder, net = tempfile.TemporaryDirectory(), nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> run = types.SimpleNamespace(net=net, trainer=gluon.Trainer(net.collect_params(), "sgd"))
    >>> handler = estimator.CheckpointHandler(folder.name, model_prefix="net")
    >>> handler.train_begin(run)
    >>> handler.epoch_end(run)
    >>> sorted(os.listdir(folder.name))
    ['net-epoch0batch0.params', 'net-epoch0batch0.states']
    """

    def __init__(
        self,
        model_dir,
        model_prefix="model",
        monitor=None,
        verbose=0,
        save_best=False,
        mode="auto",
        epoch_period=1,
        batch_period=None,
        max_checkpoints=5,
        resume_from_checkpoint=False,
    ):
        self.monitor = monitor
        self.verbose = verbose
        os.makedirs(model_dir, exist_ok=True)
        self.model_dir = model_dir
        self.model_prefix = model_prefix
        self.save_best = save_best
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = 0
        self.current_epoch = 0
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.trained_epoch = -1
        self.trained_batch = -1
        self.saved_checkpoints = []
        if save_best:
            check_monitor(monitor, CheckpointHandler)
            self.monitor_op = comparison(monitor, mode, CheckpointHandler)
            self.best = worst(self.monitor_op)

    def train_begin(self, estimator, *args, **kwargs):
        self.current_epoch = 0
        self.current_batch = 0
        if self.save_best:
            self.best = worst(self.monitor_op)
        if self.resume_from_checkpoint:
            self._check_periods(estimator)
            self._resume_from_checkpoint(estimator)

    def batch_end(self, estimator, *args, **kwargs):
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator, *args, **kwargs):
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    # --- saving ---

    def _save_checkpoint(self, estimator):
        prefix = self._prefix(*self._numbers(estimator))
        self._save_params_and_trainer(estimator, prefix)
        if prefix in self.saved_checkpoints:  # of a training before, whose files it has overwritten
            self.saved_checkpoints.remove(prefix)
        self.saved_checkpoints.append(prefix)
        if len(self.saved_checkpoints) > self.max_checkpoints:
            self._remove(self.saved_checkpoints.pop(0))
        self._log(
            estimator,
            "trained total %d batches, saving model at %s with prefix: %s",
            self.current_batch + 1,
            self.model_dir,
            prefix,
        )
        if self.save_best:
            self._save_if_best(estimator)

    def _prefix(self, epoch, batch):
        return f"{self.model_prefix}-epoch{epoch}batch{batch}"

    def _numbers(self, estimator):
        """Epoch and batch of a checkpoint, counted from 0 over all trainings that it goes on from.

        When epochs are counted, a batch has been counted already before its checkpoint is saved.
        """
        if not self.resume_from_checkpoint:
            return self.current_epoch, self.current_batch
        batches = self.current_batch + self.trained_batch
        return self.current_epoch + self.trained_epoch + 1, batches if estimator.max_epoch else batches + 1

    def _save_if_best(self, estimator):
        value = value_of(self.monitor, "CheckpointHandler does not save the best model")
        if value is None:
            return
        name = self.monitor.get()[0]
        if not self.monitor_op(value, self.best):
            text = "%s did not improve from %0.5f, skipping updating best model"
            self._log(estimator, text, name, self.best)
            return
        prefix = self.model_prefix + "-best"
        self._save_params_and_trainer(estimator, prefix)
        self._log(
            estimator,
            "%s improved from %0.5f to %0.5f, updating best model at %s with prefix: %s",
            name,
            self.best,
            value,
            self.model_dir,
            prefix,
        )
        self.best = value

    def _save_params_and_trainer(self, estimator, file_prefix):
        estimator.net.save_parameters(self._path(file_prefix + ".params"))
        estimator.trainer.save_states(self._path(file_prefix + ".states"))

    def _save_symbol(self, estimator):
        path = self._path(self.model_prefix + "-symbol.json")
        graph = getattr(estimator.net, "_cached_graph", ())
        if graph:
            graph[1].save(path)
            return
        estimator.logger.info(
            "Model architecture(symbol file) is not saved, for the network is not hybridized; call "
            "net.hybridize() on a HybridBlock before it is trained to have it as %s.",
            path,
        )

    def _remove(self, prefix):
        """Removes the files of a checkpoint, whatever they end with; batch 1 is not batch 10."""
        for name in os.listdir(self.model_dir):
            if name.startswith(prefix) and not name[len(prefix) :][:1].isdigit():
                os.remove(self._path(name))

    def _path(self, name):
        return os.path.join(self.model_dir, name)

    def _log(self, estimator, text, *values):
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: " + text, self.current_epoch, *values)

    # --- going on ---

    def _check_periods(self, estimator):
        in_batches = bool(estimator.max_batch)
        wanted, other = self.epoch_period, self.batch_period
        if in_batches:
            wanted, other = other, wanted
        assert wanted and not other, (
            "To use resume from checkpoint, save in the same type of period that fit counts, here "
            f"{'batches' if in_batches else 'epochs'}; got epoch_period={self.epoch_period} and "
            f"batch_period={self.batch_period}, set the other one to None"
        )

    def _resume_from_checkpoint(self, estimator):
        there = sorted(self._checkpoints())
        self.saved_checkpoints = [self._prefix(*numbers) for numbers in there]
        self.trained_epoch, self.trained_batch = there[-1] if there else (-1, -1)
        if not there:
            remains = (
                f"{estimator.max_batch} batches" if estimator.max_batch else f"{estimator.max_epoch} epochs"
            )
            estimator.logger.info(
                "CheckpointHandler: No checkpoint found, training from scratch for " + remains
            )
            return
        if estimator.max_epoch:
            estimator.max_epoch = self._remaining("epoch", self.trained_epoch, estimator.max_epoch)
            remains = f"{estimator.max_epoch} epochs "
        else:
            estimator.max_batch = self._remaining("batch", self.trained_batch, estimator.max_batch)
            remains = f"{estimator.max_batch} batches "
        prefix = self.saved_checkpoints[-1]
        params, states = self._path(prefix + ".params"), self._path(prefix + ".states")
        assert os.path.exists(states), f"Failed to load checkpoint, {states} does not exist"
        estimator.net.load_parameters(params, ctx=estimator.context)
        estimator.trainer.load_states(states)
        estimator.logger.warning(
            "CheckpointHandler: Checkpoint resumed from epoch %d batch %d, continue to train for " + remains,
            self.trained_epoch,
            self.trained_batch,
        )

    @staticmethod
    def _remaining(unit, trained, wanted):
        """How many epochs or batches are left, of which the first one is number 0."""
        if trained >= wanted - 1:
            raise ValueError(
                f"Found checkpoint with maximum number of {unit} {wanted} reached, please specify "
                f"resume_from_checkpoint=False to train from scratch, or more than {trained + 1} in fit"
            )
        return wanted - trained - 1

    def _checkpoints(self):
        """The numbers of epoch and batch of each checkpoint in the folder."""
        start = self.model_prefix + "-epoch"
        for name in os.listdir(self.model_dir):
            if not name.startswith(start) or ".params" not in name:
                continue
            numbers = re.fullmatch(r"(\d+)batch(\d+)\.params", name[len(start) :])
            if numbers is None:
                raise ValueError(
                    f"Error parsing checkpoint file {name}: expected names of the format "
                    f"{start}{{epoch_number}}batch{{batch_number}}.params; move it out of {self.model_dir}"
                )
            yield tuple(map(int, numbers.groups()))
