"""Data sets: reading files of the field, bundled data, and generated data with a known truth."""

from montechain.datasets.dataset import Dataset, Split
from montechain.datasets.files import write_table
from montechain.datasets.generators import load_digits_facts
from montechain.datasets.reading import read_dataset

__all__ = ["Dataset", "Split", "load_digits_facts", "read_dataset", "write_table"]
