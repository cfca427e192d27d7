"""Metrics: running figures of how well predictions fit labels.

A metric takes labels and predictions batch by batch (`update`) and gives its name and value (`get`). It keeps
two pairs of a sum and a count: the local ones, which `reset_local` clears, and the global ones, which only
`reset` does. Arrays may be nd, np or NumPy arrays, alone or in lists. Every update waits for the arrays that
it is given.
"""

from .. import ndarray  # programs use metric.ndarray
from .base import EvalMetric, alias, check_label_shapes, register
from .classification import (
    F1,
    MCC,
    PCC,
    Accuracy,
    CrossEntropy,
    NegativeLogLikelihood,
    Perplexity,
    TopKAccuracy,
)
from .combined import CompositeEvalMetric, CustomMetric, create, np
from .regression import MAE, MSE, RMSE, Caffe, Loss, PearsonCorrelation, Torch

__all__ = [
    "EvalMetric",
    "CompositeEvalMetric",
    "Accuracy",
    "TopKAccuracy",
    "F1",
    "MCC",
    "PCC",
    "Perplexity",
    "MAE",
    "MSE",
    "RMSE",
    "CrossEntropy",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Loss",
    "Torch",
    "Caffe",
    "CustomMetric",
    "np",
    "create",
    "register",
    "alias",
    "check_label_shapes",
]
