"""Training with gradients of reduced variance (SVRG)."""

from . import svrg_module, svrg_optimizer
