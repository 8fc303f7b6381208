"""Data sets: reading files of the field, the paper's thirteen by name, embedded and invented ones."""

from montechain.datasets.arff import read_arff
from montechain.datasets.catalogue import DATASETS, CatalogueEntry, Figures, list_datasets, load_dataset
from montechain.datasets.dataset import Dataset, Split
from montechain.datasets.files import write_table
from montechain.datasets.generators import make_chain_data
from montechain.datasets.reading import read_dataset

__all__ = [
    "DATASETS",
    "CatalogueEntry",
    "Dataset",
    "Figures",
    "Split",
    "list_datasets",
    "load_dataset",
    "make_chain_data",
    "read_arff",
    "read_dataset",
    "write_table",
]
