"""Methods on data sets: folds, measures, a store of results, summaries and significance."""

from montechain.experiments.evaluation import evaluate
from montechain.experiments.folds import LabelStratifiedKFold, OfficialSplit, RandomSplits
from montechain.experiments.limits import Limits
from montechain.experiments.measures import MEASURES, Measure
from montechain.experiments.results import Result
from montechain.experiments.store import ResultStore
from montechain.experiments.summary import scores_table, summarise, tabulate

__all__ = [
    "MEASURES",
    "LabelStratifiedKFold",
    "Limits",
    "Measure",
    "OfficialSplit",
    "RandomSplits",
    "Result",
    "ResultStore",
    "evaluate",
    "scores_table",
    "summarise",
    "tabulate",
]
