"""Image datasets and transforms."""

from . import datasets, transforms
from .datasets import MNIST, Digits, FashionMNIST

__all__ = ["datasets", "transforms", "Digits", "FashionMNIST", "MNIST"]
