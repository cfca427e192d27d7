"""A loss scale that is as large as gradients in low precision allow."""

import logging

from .... import ndarray as nd

__all__ = ["LossScaler"]


class LossScaler:
    """The factor on losses: halved when a gradient overflows, doubled after 2000 steps without that.

    Programs may set `_max_loss_scale`, which it does not exceed (2^24), and `_scale_seq_len`, the steps after
    which it doubles.

    Examples
    --------
    >>> from headrace.mxnet.contrib.amp.loss_scaler import LossScaler
    >>> scaler = LossScaler()
    >>> scaler.loss_scale
    65536.0
    """

    agree = staticmethod(bool)  # what all who update together make of what each of them has found

    def __init__(self):
        self._loss_scale = 2.0**16
        self._next_loss_scale = self._loss_scale
        self._max_loss_scale = 2.0**24
        self._scale_seq_len = 2000
        self._unskipped = 0
        self.is_undone = False  # in the gradients, before the step

    @property
    def loss_scale(self):
        """The factor on the losses of this step."""
        return self._loss_scale

    def follow(self, trainer):
        """Before a step of the Trainer without losses of its own: others have multiplied theirs by the
        factor, unless programs have undone that in the gradients (`amp.unscale`).
        """
        if not self.is_undone:
            trainer._scale = trainer._amp_original_scale / self._loss_scale

    def has_overflow(self, params):
        """Whether a gradient of the Parameters is infinite or nan; waits for them, and sets the factor of the
        next step.
        """
        grads = [grad for param in params if param._grad is not None for grad in param._grad]
        by_context = {}
        for grad in grads:
            by_context.setdefault(grad.ctx, []).append(grad.as_nd_ndarray())
        finite = [nd.multi_all_finite(*some, num_arrays=len(some)) for some in by_context.values()]
        overflow = self.agree(not all(one.asscalar() for one in finite))
        self._loss_scale = self._next_loss_scale
        if overflow:
            self._next_loss_scale = self._loss_scale / 2
            self._unskipped = 0
            logging.info("AMP: decreasing loss scale to %f", self._next_loss_scale)
            return True
        self._unskipped += 1
        if self._unskipped >= self._scale_seq_len:
            self._unskipped = 0
            self._next_loss_scale = min(self._max_loss_scale, self._loss_scale * 2)
            logging.info("AMP: increasing loss scale to %f", self._next_loss_scale)
        return False
