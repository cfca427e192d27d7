"""What an Estimator does with one batch."""

from .... import autograd
from ...utils import split_and_load

__all__ = ["BatchProcessor"]


class BatchProcessor:
    """Runs one batch through the networks of an Estimator; a subclass may do it in another way.

    Both methods give lists with an element for each context: data, labels, predictions and losses.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> class Doubled(estimator.BatchProcessor):
    ...     def evaluate_batch(self, estimator, val_batch, batch_axis=0):
    ...         data, label = val_batch
    ...         return super().evaluate_batch(estimator, (data * 2, label), batch_axis)
    >>> net, ones = nn.Dense(1, in_units=1, weight_initializer="ones"), nd.ones((1, 1))
    >>> net.initialize()
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd")
    >>> test = estimator.Estimator(net, gluon.loss.L2Loss(), trainer=trainer, context=mx.cpu())
    >>> data, label, predictions, losses = Doubled().evaluate_batch(test, (ones, ones))
    >>> predictions[0]
    [[2.]]
    <NDArray 1x1 @cpu(0)>
    """

    def _get_data_and_label(self, batch, ctx, batch_axis=0):
        data, label = batch[0], batch[1]
        return split_and_load(data, ctx, batch_axis), split_and_load(label, ctx, batch_axis)

    def evaluate_batch(self, estimator, val_batch, batch_axis=0):
        """Predictions of `val_net` for a batch (data, label), and what `val_loss` says of them.

        The batch is cut along `batch_axis` into a part for each context of the estimator.
        """
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        loss = [estimator.val_loss(y_hat, y) for y_hat, y in zip(pred, label)]
        return data, label, pred, loss

    def fit_batch(self, estimator, train_batch, batch_axis=0):
        """As evaluate_batch with `net` and `loss`, recorded, and the gradients of the parameters.

        What follows, the step of the trainer, is GradientUpdateHandler's.
        """
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(y_hat, y) for y_hat, y in zip(pred, label)]
        for part in loss:
            part.backward()
        return data, label, pred, loss
