"""Arrays in a payload, judged by their headers before numpy makes room for them."""

from __future__ import annotations

import io
import math
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from montechain.errors import ModelFileError
from montechain.persistence.containers import DAMAGE

__all__ = ["check_array_file", "check_sparse_file", "without_padding"]

SPARSE_MEMBERS = {"format", "shape", "data", "indices", "indptr", "row", "col", "_is_array"}
"""The members of a sparse matrix as scipy writes it."""
MOST_UNFOLDED = 200
"""A member of a sparse matrix may unfold into so many times its size."""
ALWAYS_ALLOWED = 2**26
"""Bytes that a member may have whatever its compressed size."""


def check_array_file(stream: IO[bytes], size: int, name: str) -> None:
    """Raise a ModelFileError unless `size` bytes are just what the array's header announces.

    Otherwise a header of a hundred bytes could ask for a terabyte, and numpy would make room for it first.
    """
    try:
        version = npy_format.read_magic(stream)
        readers: dict[tuple[int, int], Any] = {
            (1, 0): npy_format.read_array_header_1_0,
            (2, 0): npy_format.read_array_header_2_0,
        }
        shape, _, dtype = readers[version](stream)
    except DAMAGE as error:
        raise ModelFileError(f"the array {name!r} has no valid header.") from error
    if not _is_plain(dtype):
        raise ModelFileError(f"the array {name!r} has the type {dtype}, which no model file holds.")
    if any(length < 0 for length in shape) or stream.tell() + math.prod(shape) * dtype.itemsize != size:
        raise ModelFileError(f"the array {name!r} is not as large as its header says.")


def check_sparse_file(content: bytes, name: str) -> int:
    """Return into how many bytes a sparse matrix unfolds.

    Raises
    ------
    ModelFileError
        Unless these bytes are a sparse matrix as scipy writes it, within bounds.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            names = [member.filename.removesuffix(".npy") for member in members]
            if len(set(names)) != len(names) or not set(names) <= SPARSE_MEMBERS:
                raise ModelFileError(f"the sparse matrix {name!r} holds {names}, which is not what scipy writes.")
            for member in members:
                if member.file_size > max(ALWAYS_ALLOWED, MOST_UNFOLDED * member.compress_size):
                    raise ModelFileError(f"the sparse matrix {name!r} would unfold into {member.file_size} bytes.")
                with archive.open(member) as stream:
                    check_array_file(stream, member.file_size, f"{name}/{member.filename}")
            return sum(member.file_size for member in members)
    except DAMAGE as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"the sparse matrix {name!r} cannot be read.") from error


def without_padding(content: bytes) -> bytes:
    """Return the file of an array with zeros between the fields of its records.

    The nodes of trees are such records. What stands between their fields is whatever was in memory before: it
    is nobody's business, and it differs from time to time.
    """
    if b"'descr': [" not in content[:64]:  # no records
        return content
    array = np.load(io.BytesIO(content), allow_pickle=False)
    start, dtype = len(content) - array.nbytes, array.dtype
    # By bytes: numpy copies records field by field, into memory that is not empty.
    records = np.frombuffer(content, dtype=np.uint8, offset=start).reshape(-1, dtype.itemsize)
    clean = np.zeros_like(records)
    for field, offset, *_ in (dtype.fields or {}).values():
        clean[:, offset : offset + field.itemsize] = records[:, offset : offset + field.itemsize]
    return content[:start] + clean.tobytes()


def _is_plain(dtype: np.dtype) -> bool:
    """Return whether a type is of numbers, texts or times, or a record of such as scikit-learn's trees have."""
    if dtype.names is not None:
        return all(_is_plain(dtype[field]) for field in dtype.names)
    return dtype.kind in "biufcSUMm" and dtype.itemsize > 0 and dtype.subdtype is None
