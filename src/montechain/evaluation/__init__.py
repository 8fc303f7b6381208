"""Cross-validated comparison of methods: folds, measures, limits, and a store of finished results."""

from montechain.evaluation.comparison import (
    describe_parameters,
    evaluate,
    fingerprint,
    fold_jobs,
    fold_seed,
    results_table,
    summarise,
)
from montechain.evaluation.folds import LabelStratifiedKFold
from montechain.evaluation.jobs import Job, Limits, ResultStore, library_versions, run_jobs
from montechain.evaluation.measures import MEASURES, Measure, warm_up

__all__ = [
    "MEASURES", "Job", "LabelStratifiedKFold", "Limits", "Measure", "ResultStore", "describe_parameters", "evaluate",
    "fingerprint", "fold_jobs", "fold_seed", "library_versions", "results_table", "run_jobs", "summarise", "warm_up",
]  # fmt: skip
