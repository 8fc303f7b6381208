"""Reading ARFF, the format of Weka, MEKA and Mulan: text into tables, names and declared values.

This module only parses, and knows no data set. Which columns are labels is for `montechain.datasets.labels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import scipy.sparse as sp

from montechain.datasets._arff_header import Attribute, read_header
from montechain.datasets._arff_rows import DenseRows, Rows, SparseRows
from montechain.datasets._text_blocks import text_blocks
from montechain.errors import DataError

__all__ = ["ArffTable", "Attribute", "arff_columns", "read_arff"]


@dataclass(frozen=True)
class ArffTable:
    """What an ARFF file holds.

    Attributes
    ----------
    relation : str
        The name in its first declaration, where MEKA keeps options.
    attributes : list of Attribute
        The columns, in the file's order.
    data : data frame or CSR array of shape (n, number of attributes)
        Of a dense file, a frame: numeric columns are float64, nominal ones categoricals with the declared values,
        texts and dates are text; what is missing is NaN. Of a sparse file, an array of numbers: nominal cells are
        codes in the declared order, so that an omitted cell is the first declared value, and what is missing
        is a NaN that is stored.
    """

    relation: str
    attributes: list[Attribute]
    data: pd.DataFrame | sp.csr_array


def read_arff(path: str | Path, *, encoding: str = "utf-8") -> ArffTable:
    """Read an ARFF file, dense or sparse, plain or packed by gzip or bzip2.

    The file is read in blocks: memory is that of the result, for sparse files in proportion to the non-zeros.

    Parameters
    ----------
    path : str or Path
    encoding : str, default="utf-8"
        The encoding of the text; old files may need ``"latin-1"``.

    Returns
    -------
    ArffTable

    Raises
    ------
    DataError
        If the file is not ARFF, is damaged, or holds what is not supported: relational attributes,
        weights of rows. The message names the line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> text = '''@relation weather
    ... @attribute temperature numeric
    ... @attribute play {no, yes}
    ... @data
    ... 21.5, yes
    ... ?, no
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "weather.arff"
    ...     _ = path.write_text(text)
    ...     table = read_arff(path)
    >>> table.attributes[1]
    Attribute(name='play', kind='nominal', categories=('no', 'yes'))
    >>> table.data
       temperature play
    0         21.5  yes
    1          NaN   no
    """
    blocks = text_blocks(path, encoding)
    header = read_header(blocks, path)
    rows: Rows | None = None
    first, block = header.first_row
    while True:
        if rows is None:
            kind = _kind_of_rows(block)
            rows = None if kind is None else kind(header.attributes, path)
        if rows is not None:
            rows.add(first, block)
        try:
            first, block = next(blocks)
        except StopIteration:
            break
    if isinstance(rows, DenseRows):
        return ArffTable(header.relation, header.attributes, rows.frame())
    if isinstance(rows, SparseRows):
        return ArffTable(header.relation, rows.complete_attributes(), rows.array())
    raise DataError("there are no rows after @data.", path=path, line=header.first_row[0] - 1)


def arff_columns(path: str | Path, *, encoding: str = "utf-8") -> list[str]:
    """Return the names of the columns of an ARFF file, of which only the header is read."""
    return [attribute.name for attribute in read_header(text_blocks(path, encoding), path).attributes]


def _kind_of_rows(block: str) -> type[DenseRows | SparseRows] | None:
    """Return how the first row of a block is written; None if there is none."""
    for line in block.split("\n"):
        row = line.lstrip(" \t")
        if row and row[0] != "%":
            return SparseRows if row[0] == "{" else DenseRows
    return None
