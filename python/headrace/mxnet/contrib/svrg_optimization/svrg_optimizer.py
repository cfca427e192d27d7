"""The optimizers with which a store can hold gradients beside parameters."""

from .... import optimizer as opt

__all__ = ["FULL", "_AssignmentOptimizer", "_SVRGOptimizer"]

FULL = "_full"  # at the end of a parameter's name: the mean of its gradients over all data

_BASE_OPTIONS = frozenset(
    (
        "begin_num_update",
        "clip_gradient",
        "learning_rate",
        "lr_scheduler",
        "multi_precision",
        "param_dict",
        "param_idx2name",
        "rescale_grad",
        "sym",
        "wd",
    )
)


@opt.register
class _AssignmentOptimizer(opt.Optimizer):
    """Writes each gradient in the place of the weight."""

    def update(self, index, weight, grad, state):
        weight[:] = grad


@opt.register
class _SVRGOptimizer(opt.Optimizer):
    """`default_optimizer`, an Optimizer or a name with its keywords, for parameters; full gradients, whose
    names end in '_full', are assigned.
    """

    def __init__(self, default_optimizer, **kwargs):
        super().__init__(**{name: value for name, value in kwargs.items() if name in _BASE_OPTIONS})
        if isinstance(default_optimizer, str):
            default_optimizer = opt.create(default_optimizer, **kwargs)
        self.default_opt = default_optimizer
        self.aux_opt = _AssignmentOptimizer()

    @property
    def learning_rate(self):
        return self.default_opt.learning_rate

    def set_learning_rate(self, lr):
        self.default_opt.set_learning_rate(lr)

    def _set_current_context(self, device_id):
        super()._set_current_context(device_id)
        self.default_opt._set_current_context(device_id)

    def _optimizer_of(self, index):
        """An index is a number, or a name as stores know it."""
        name = index if isinstance(index, str) else self.idx2name[index]
        return self.aux_opt if name.endswith(FULL) else self.default_opt

    def create_state(self, index, weight):
        return self._optimizer_of(index).create_state(index, weight)

    def update(self, index, weight, grad, state):
        self._optimizer_of(index).update(index, weight, grad, state)
