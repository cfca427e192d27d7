"""Image datasets and transforms."""

from . import datasets, transforms
from .datasets import *  # noqa: F403

__all__ = [*datasets.__all__, "datasets", "transforms"]
