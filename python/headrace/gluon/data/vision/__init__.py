"""Image datasets and transforms."""

from . import datasets, transforms
from .datasets import (
    CIFAR10,
    CIFAR100,
    MNIST,
    Digits,
    FashionMNIST,
    ImageFolderDataset,
    ImageRecordDataset,
)

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "Digits",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageRecordDataset",
    "MNIST",
    "datasets",
    "transforms",
]
