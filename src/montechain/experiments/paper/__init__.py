"""What the paper printed, as data: its tables, and remarks on figures that cannot be compared."""

from montechain.experiments.paper.figures import (
    MekaFigure,
    PayoffFigure,
    PublishedFigure,
    TraceStep,
    meka_figures,
    published_average_ranks,
    published_figures,
    published_payoffs,
    published_trace,
)
from montechain.experiments.paper.names import DATASET_NAMES, METHOD_NAMES, dataset_title
from montechain.experiments.paper.remarks import REMARKS, Remark, remarks_on

__all__ = [
    "DATASET_NAMES",
    "METHOD_NAMES",
    "REMARKS",
    "MekaFigure",
    "PayoffFigure",
    "PublishedFigure",
    "Remark",
    "TraceStep",
    "dataset_title",
    "meka_figures",
    "published_average_ranks",
    "published_figures",
    "published_payoffs",
    "published_trace",
    "remarks_on",
]
