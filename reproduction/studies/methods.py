"""Studies that compare methods on folds: accuracy, times, official splits, payoffs, and the order of the file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import pandas as pd
from sklearn.model_selection import ShuffleSplit

from montechain import make_method
from montechain.evaluation import LabelStratifiedKFold, fold_jobs
from reproduction.paper import DATASETS, meka, published, published_payoffs, remarks_on
from reproduction.statistics import significance
from reproduction.studies.base import Outcome, Setting, Study
from reproduction.tables import BASELINE, Findings, Table, complete_cells, ranks

__all__ = ["Accuracy", "MethodStudy", "NaturalOrder", "Official", "PayoffComparison", "Run", "Times"]

METHODS = ("IC", "CC", "PCC", "ECC", "CDN", "MCC", "MsCC", "PMsCC", "PtMsCC")
CROSS_VALIDATED = (
    "solar_flare", "bridges", "parkinsons", "thyroid", "music", "scene", "yeast", "genbase", "medical", "enron",
    "reuters",
)  # fmt: skip
OFFICIAL_METHODS = ("PCC-epsilon", "PCC-Beam", "RF-PCT", "MCC", "MsCC", "PtMsCC")
LOGISTIC = ("PCC-epsilon", "PCC-Beam")
"""Methods whose published figures were made with logistic regression."""
SCORES = ("exact_match", "hamming_score")
PAYOFFS = ("J_EM", "J_EM_prod", "J_Ham")
Values = dict[str, Any]


class Run(NamedTuple):
    """Methods on the folds of one data set."""

    dataset: str
    methods: Mapping[str, Any]
    folds: Any
    n_folds: int


class MethodStudy(Study):
    """A study whose jobs are methods on folds. A subclass says what is run and makes its table."""

    least_done: ClassVar[float] = 1.0
    """Share of the folds that a mean needs: all, unless each fold is a random split like any other."""

    @abstractmethod
    def runs(self, setting: Setting) -> list[Run]:
        """Return all runs, with those on data sets that are missing."""

    def values(self, measured: Values) -> Values:
        """Return the figures of the table from the measures of one fold; by default exact match and Hamming score."""
        return {name: measured.get(name) for name in SCORES}

    def jobs(self, setting: Setting) -> list[Any]:  # noqa: D102
        return [
            job
            for run in self.runs(setting)
            if not setting.why_missing(run.dataset)
            for job in fold_jobs(setting.load(run.dataset), run.methods, folds=run.folds, seed=setting.seed)
        ]

    def cells(
        self,
        setting: Setting,
        done: Sequence[tuple[Any, Outcome]],
        table: str,
        theirs: pd.DataFrame,
        mekas: pd.DataFrame | None = None,
    ) -> pd.DataFrame:
        """Return our means beside published figures and MEKA's.

        `table` names the paper's table for `remarks_on`; `theirs` and `mekas` have the columns `dataset`, `method`,
        `measure` and `value`, and may have `rank`, `std`, `word` and `protocol`.
        """
        outcomes: dict[tuple[str, str], list[Outcome]] = {}
        for job, outcome in done:
            outcomes.setdefault((job.labels["dataset"], job.labels["method"]), []).append(outcome)
        key = ["dataset", "method", "measure"]
        printed = {tuple(row[name] for name in key): row for row in theirs.to_dict("records")}
        measured = {} if mekas is None else {tuple(row[name] for name in key): row for row in mekas.to_dict("records")}
        rows = []
        for run in self.runs(setting):
            why = setting.why_missing(run.dataset)
            for method in run.methods:
                own = [one for one in outcomes.get((run.dataset, method), []) if one is not None]
                folds = [one["values"]["values"] for one in own if one["status"] == "ok"]
                certified = pd.Series([fold.get("certified") for fold in folds], dtype="float64").mean()
                for measure in self.values({}):
                    place = (run.dataset, method, measure)
                    row, meka_row = printed.get(place, {}), measured.get(place, {})
                    comparable, texts = remarks_on(table, *place) if row else (True, ())
                    values = [self.values(fold)[measure] for fold in folds]
                    rows.append(
                        dict(zip(key, place, strict=True))
                        | _mean(
                            [value for value in values if value is not None], own, run.n_folds, why, self.least_done
                        )
                        | {f"published_{name}": row.get(name) for name in ("rank", "std", "word")}
                        | {"published": row.get("value"), "comparable": comparable, "note": " ".join(texts)}
                        | {"meka": meka_row.get("value"), "meka_protocol": meka_row.get("protocol")}
                        | {"certified": certified}
                    )
        cells = complete_cells(rows)
        for (_, measure), group in cells[cells["method"] != BASELINE].groupby(["dataset", "measure"], sort=False):
            cells.loc[group.index, "rank"] = ranks(group["ours"], str(measure))
        return cells


def _mean(values: list[float], own: list[Any], n_folds: int, why: str, least_done: float) -> dict[str, Any]:
    failed = [one["reason"] for one in own if one["status"] == "DNF"]
    status, reason = "missing", why
    if failed:
        status, reason = "DNF", failed[0]
    elif not why and values and len(values) >= least_done * n_folds:
        status = "ok"
    elif not why:
        reason = f"{len(own)} of {n_folds} folds are done" if len(own) < n_folds else "this measure is not defined here"
    found = pd.Series(values if status == "ok" else [], dtype="float64")
    return {"ours": found.mean(), "ours_std": found.std(), "n": len(values), "status": status, "reason": reason}


def _meka_scores() -> pd.DataFrame:
    found = meka().melt(["dataset", "method", "protocol", "is_cross_validated"], SCORES, "measure")
    return found.assign(protocol=found["protocol"].where(~found["is_cross_validated"], ""))


@dataclass(frozen=True)
class Accuracy(MethodStudy):
    """The paper's main table: exact match and Hamming score by 5-fold cross-validation."""

    name: ClassVar[str] = "accuracy"

    datasets: tuple[str, ...] = CROSS_VALIDATED
    methods: tuple[str, ...] = METHODS
    n_folds: int = 5

    def runs(self, setting: Setting) -> list[Run]:  # noqa: D102
        folds = LabelStratifiedKFold(self.n_folds, random_state=setting.seed)
        methods = {name: make_method(name, setting.estimator) for name in (*self.methods, BASELINE)}
        return [Run(name, methods, folds, self.n_folds) for name in self.datasets]

    def collect(self, setting: Setting, done: Any) -> Findings:  # noqa: D102
        cells = self.cells(setting, done, "accuracy_5fold_cv", published("accuracy_5fold_cv"), _meka_scores())
        statistics = {}
        for measure in SCORES:
            own = cells[(cells["measure"] == measure) & cells["method"].isin(self.methods)]
            # Leave out data sets that were not run, but not those on which a method did not finish.
            own = own[~own["dataset"].isin(own.loc[own["status"] == "missing", "dataset"])]
            scores = own.pivot(index="dataset", columns="method", values="ours")
            statistics[measure] = significance(scores.reindex(index=self.datasets, columns=self.methods), measure)
        caption = (
            f"Mean over {self.n_folds} label-stratified folds, the same for all methods. "
            "Majority always predicts the most common label vector."
        )
        title = f"Accuracy, {self.n_folds}-fold cross-validation"
        return Findings([Table("accuracy", title, caption, cells)], statistics=statistics)


@dataclass(frozen=True)
class Times(Accuracy):
    """The paper's table of times. Its jobs are those of `Accuracy`, so they run once."""

    name: ClassVar[str] = "times"

    def values(self, measured: Values) -> Values:  # noqa: D102
        fit, predict = measured.get("fit_seconds"), measured.get("predict_seconds")
        return {"running_time_s": None if fit is None or predict is None else fit + predict, "build_time_s": fit}

    def collect(self, setting: Setting, done: Any) -> Findings:  # noqa: D102
        theirs = meka()[meka()["is_cross_validated"]]
        sizes = {name: len(setting.load(name).Y) for name in self.datasets if not setting.why_missing(name)}
        tested = theirs["dataset"].map(sizes) / self.n_folds
        seconds = theirs.assign(
            running_time_s=theirs["build_cpu_s"] + theirs["test_cpu_ms_per_row"] / 1000.0 * tested,
            build_time_s=theirs["build_cpu_s"],
        ).melt(["dataset", "method"], ["running_time_s", "build_time_s"], "measure")
        cells = self.cells(setting, done, "runtime_5fold_cv", published("runtime_5fold_cv"), seconds)
        caption = (
            f"Seconds of wall-clock time for one fold, mean over {self.n_folds}, without compilation. Running time is "
            "training and prediction; build time is training. MEKA's are seconds of CPU time on the same machine."
        )
        return Findings([Table("time", "Running time and build time", caption, cells)])


@dataclass(frozen=True)
class NaturalOrder(MethodStudy):
    """Chains in the label order of the file, which is MEKA's, beside MEKA's figures."""

    name: ClassVar[str] = "natural_order"

    datasets: tuple[str, ...] = ("music", "yeast", "scene")
    n_folds: int = 5

    def runs(self, setting: Setting) -> list[Run]:  # noqa: D102
        methods = {name: make_method(name, setting.estimator, order=None) for name in ("IC", "CC", "PCC", "MCC")}
        methods[BASELINE] = make_method(BASELINE)
        folds = LabelStratifiedKFold(self.n_folds, random_state=setting.seed)
        return [Run(name, methods, folds, self.n_folds) for name in self.datasets]

    def collect(self, setting: Setting, done: Any) -> Findings:  # noqa: D102
        theirs = published("accuracy_5fold_cv").drop(columns="rank")
        cells = self.cells(setting, done, "accuracy_5fold_cv", theirs, _meka_scores())
        caption = f"Mean over {self.n_folds} folds. The order of the paper's chains is not known."
        return Findings([Table("natural_order", "Labels in the order of the file", caption, cells)])


@dataclass(frozen=True)
class Official(MethodStudy):
    """The paper's comparison with the literature, on the split that each data set was published with."""

    name: ClassVar[str] = "official"

    datasets: tuple[str, ...] = ("music", "scene", "yeast", "genbase", "medical", "enron", "tmc2007", "mediamill")

    def runs(self, setting: Setting) -> list[Run]:  # noqa: D102
        methods = {
            name: make_method(name, "logistic" if name in LOGISTIC else setting.estimator)
            for name in (*OFFICIAL_METHODS, BASELINE)
        }
        return [Run(name, methods, "official", 1) for name in self.datasets]

    def values(self, measured: Values) -> Values:  # noqa: D102
        names = {"exact_match_loss": "exact_match", "hamming_loss": "hamming_score"}
        return {loss: 1.0 - measured[name] if name in measured else None for loss, name in names.items()}

    def collect(self, setting: Setting, done: Any) -> Findings:  # noqa: D102
        cells = self.cells(setting, done, "official_split", published("official_split"))
        caption = (
            "Losses on the official test part. PCC-epsilon and PCC-Beam use logistic regression, as in the papers that "
            "the published figures come from. Both losses are those of one prediction."
        )
        return Findings([Table("official", "Official training and test parts", caption, cells)])


def _published_iterations() -> dict[str, int]:
    return dict(zip(published_payoffs()["dataset"], published_payoffs()["n_iterations"], strict=True))


@dataclass(frozen=True)
class PayoffComparison(MethodStudy):
    """Which payoff to search with: MsCC with each of them on random splits."""

    name: ClassVar[str] = "payoff_comparison"
    least_done: ClassVar[float] = 0.3

    n_iterations: Mapping[str, int] = field(default_factory=_published_iterations)
    n_splits: int = 100

    @property
    def datasets(self) -> tuple[str, ...]:  # type: ignore[override]
        """The data sets, from the number of iterations on each."""
        return tuple(self.n_iterations)

    def runs(self, setting: Setting) -> list[Run]:  # noqa: D102
        splits = ShuffleSplit(self.n_splits, test_size=1 / 3, random_state=setting.seed)
        found = []
        for name, n_iterations in self.n_iterations.items():
            methods = {
                payoff: make_method("MsCC", setting.estimator, order__payoff=payoff, order__n_iterations=n_iterations)
                for payoff in PAYOFFS
            }
            methods |= {"none": make_method("MCC", setting.estimator), BASELINE: make_method(BASELINE)}
            found.append(Run(name, methods, splits, self.n_splits))
        return found

    def collect(self, setting: Setting, done: Any) -> Findings:  # noqa: D102
        cells = self.cells(setting, done, "payoffs", published_payoffs().rename(columns={"mean": "value"}))
        full = _published_iterations()
        for name, n_iterations in self.n_iterations.items():
            if n_iterations != full.get(name):
                cells.loc[cells["dataset"] == name, "note"] += f" T_s = {n_iterations} instead of {full.get(name)}."
        sizes = ", ".join(f"T_s = {n:,} on {DATASETS.get(name, name)}" for name, n in self.n_iterations.items())
        caption = (
            f"MsCC with each payoff ({sizes}), and MCC with a random order (none); mean over {self.n_splits} random "
            "splits, two thirds to one third."
        )
        return Findings([Table("payoffs", "Payoffs", caption, cells)])
