"""Data sets: reading files of the field, the paper's thirteen by name, embedded and invented ones."""

from montechain.datasets.dataset import Dataset, Split

__all__ = ["Dataset", "Split"]
