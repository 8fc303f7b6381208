"""The paper's names of data sets and methods, and ours."""

from __future__ import annotations

from types import MappingProxyType

__all__ = ["DATASET_NAMES", "METHOD_NAMES", "dataset_title"]

DATASET_NAMES = MappingProxyType(
    {
        "Solar Flare": "solar_flare",
        "SolFlare": "solar_flare",
        "Bridges": "bridges",
        "Parkinson's": "parkinsons",
        "Parkins": "parkinsons",
        "Thyroid": "thyroid",
        "Music": "music",
        "Scene": "scene",
        "Yeast": "yeast",
        "Genbase": "genbase",
        "Medical": "medical",
        "Enron": "enron",
        "Reuters": "reuters",
        "TMC2007": "tmc2007",
        "MediaMill": "mediamill",
    }
)
"""The paper's name of a data set, written out or as short as in its tables -> ours."""

METHOD_NAMES = MappingProxyType(
    {
        "IC": "IC",
        "CC": "CC",
        "ECC": "ECC",
        "PCC": "PCC",
        r"PCC-$\epsilon$": "PCC-epsilon",
        "PCC-Beam": "PCC-Beam",
        "CDN": "CDN",
        "RF-PCT": "RF-PCT",
        "MCC": "MCC",
        r"M$_\s$CC": "MsCC",
        r"PM$_\s$CC": "PMsCC",
        r"P$_t$M$_\s$CC": "PtMsCC",
    }
)
"""The paper's name of a method, as it is typeset -> ours."""


def dataset_title(name: str) -> str:
    """Return what the paper calls a data set; a name that is not in it stays as it is.

    Examples
    --------
    >>> dataset_title("solar_flare"), dataset_title("my songs")
    ('Solar Flare', 'my songs')
    """
    return next((title for title, own in DATASET_NAMES.items() if own == name), name)
