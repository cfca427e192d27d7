"""Datasets, samplers and the DataLoader."""

from . import batchify, dataloader, dataset, sampler, vision
from .dataloader import DataLoader
from .dataset import ArrayDataset, Dataset, RecordFileDataset, SimpleDataset
from .sampler import BatchSampler, FilterSampler, RandomSampler, Sampler, SequentialSampler, SplitSampler

__all__ = [
    "batchify",
    "dataloader",
    "dataset",
    "sampler",
    "vision",
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SplitSampler",
    "SimpleDataset",
]
