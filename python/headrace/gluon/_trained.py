"""How a parameter knows its Trainer."""

import weakref


class _WeakTrainer(weakref.ref):
    """Knows a Trainer that others keep; copies know none."""

    def __reduce_ex__(self, protocol):
        return type(None), ()


class Trained:
    """The part of `Parameter` that knows the Trainer.

    The values of a sparse parameter may be in the Trainer's store, so it keeps it. A dense one does not: they
    would be a cycle, and what they hold would stay until Python collects garbage.
    """

    _link = None  # to the Trainer, itself or weak

    @property
    def _trainer(self):
        """The Trainer of the parameter, or None."""
        return self._link() if isinstance(self._link, _WeakTrainer) else self._link

    @_trainer.setter
    def _trainer(self, trainer):
        is_kept = trainer is None or self._stype != "default"
        self._link = trainer if is_kept else _WeakTrainer(trainer)

    def _set_trainer(self, trainer):
        """Makes `trainer` (or None) the one of the parameter. RuntimeError: a sparse one has another."""
        if self._stype != "default" and trainer and self._trainer and self._trainer is not trainer:
            raise RuntimeError(
                f"Failed to set the trainer for Parameter '{self.name}' because it was already set. More "
                f"than one trainers for a {self._stype} Parameter is not supported."
            )
        self._trainer = trainer
