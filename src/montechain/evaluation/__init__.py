"""Cross-validated comparison of methods: folds, measures, limits, and a store of finished results."""

from montechain.evaluation.comparison import evaluate, fold_jobs, results_table, summarise
from montechain.evaluation.folds import LabelStratifiedKFold
from montechain.evaluation.identity import describe_parameters, fingerprint, fold_seed, library_versions
from montechain.evaluation.jobs import Job, Limits, ResultStore, run_jobs
from montechain.evaluation.measures import MEASURES, Measure, warm_up

__all__ = [
    "MEASURES",
    "Job",
    "LabelStratifiedKFold",
    "Limits",
    "Measure",
    "ResultStore",
    "describe_parameters",
    "evaluate",
    "fingerprint",
    "fold_jobs",
    "fold_seed",
    "library_versions",
    "results_table",
    "run_jobs",
    "summarise",
    "warm_up",
]
