"""Targets in the user's own shape and classes, and back: one table of columns, codes, arrays and frames.

This package knows nothing of chains. A target may be a list of lists, an array of any type, a sparse
matrix, or a data frame of any library that narwhals reads; it may have unknown cells. Here it
becomes columns with a mask (`as_columns`), then codes 0..K-1 (`encode`), and codes become the
user's classes again (`decode`, `decode_frame`).
"""

from montechain._targets.codes import Decoder, decode, encode
from montechain._targets.frames import decode_frame
from montechain._targets.names import default_label_names, named_labels
from montechain._targets.negative import resolve_negative
from montechain._targets.table import TargetFormat, TargetTable, as_columns
from montechain._targets.types import ColumnType
from montechain._targets.values import CODE, UNKNOWN, common_dtype, equals, factorise, plain, show_classes

__all__ = [
    "CODE",
    "UNKNOWN",
    "ColumnType",
    "Decoder",
    "TargetFormat",
    "TargetTable",
    "as_columns",
    "common_dtype",
    "decode",
    "decode_frame",
    "default_label_names",
    "encode",
    "equals",
    "factorise",
    "named_labels",
    "plain",
    "resolve_negative",
    "show_classes",
]
