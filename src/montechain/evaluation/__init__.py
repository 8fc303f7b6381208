"""Cross-validated comparison of methods: folds, measures, a time limit, and a store of finished results."""

from montechain.evaluation.comparison import MEASURES, Measure, evaluate, fingerprint, fold_jobs, fold_seed, summarise
from montechain.evaluation.folds import LabelStratifiedKFold
from montechain.evaluation.jobs import Job, ResultStore, run_jobs

__all__ = [
    "MEASURES", "Job", "LabelStratifiedKFold", "Measure", "ResultStore", "evaluate", "fingerprint", "fold_jobs",
    "fold_seed", "run_jobs", "summarise",
]  # fmt: skip
