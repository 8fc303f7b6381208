"""Which format a file has, by its name."""

from __future__ import annotations

from pathlib import Path

from montechain._messages import nearest
from montechain.errors import DataError

__all__ = ["SUFFIXES", "TABLE_FORMATS", "file_stem", "find_format"]

SUFFIXES = {
    "arff": (".arff",),
    "csv": (".csv", ".data"),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow"),
    "libsvm": (".libsvm", ".svm", ".svmlight", ".txt"),
}
"""The formats that are read, and how their files' names end."""

COMPRESSIONS = (".gz", ".bz2")
TABLE_FORMATS = ("csv", "tsv", "parquet", "feather")


def find_format(path: str | Path, format: str | None = None) -> str:
    """Return the format of a file, which is the given one or that of its suffix.

    Examples
    --------
    >>> find_format("music/music.arff.gz")
    'arff'
    >>> find_format("bridges.version1", "csv")
    'csv'
    """
    if format is not None:
        if format not in SUFFIXES:
            allowed = ", ".join(map(repr, SUFFIXES))
            raise ValueError(f"`format={format!r}` is unknown{nearest(format, SUFFIXES) or '.'} Allowed: {allowed}.")
        return format
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    is_packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    suffix = "".join(suffixes[:-1][-1:] if is_packed else suffixes[-1:])
    for name, endings in SUFFIXES.items():
        if suffix in endings:
            if is_packed and name in ("parquet", "feather"):
                raise DataError(f"{name.capitalize()} files are compressed inside; unpack this one first.", path=path)
            return name
    known = ", ".join(suffix for endings in SUFFIXES.values() for suffix in endings)
    what = f"the suffix {suffix!r} tells no format" if suffix else "the name has no suffix that tells the format"
    raise DataError(
        f'{what}. Known are {known}, the text ones also with .gz or .bz2. Or name the format, e.g. format="csv" '
        "(on the command line: --format csv).",
        path=path,
    )


def file_stem(path: str | Path) -> str:
    """Return the name of a data file without what tells its format.

    Examples
    --------
    >>> file_stem("data/yeast-train.arff.gz")
    'yeast-train'
    """
    name = Path(path).name
    formats = tuple(suffix for endings in SUFFIXES.values() for suffix in endings)
    for endings in (COMPRESSIONS, formats):
        suffix = Path(name).suffix
        if suffix.lower() in endings:
            name = name.removesuffix(suffix)
    return name
