"""One table from the finished cells: the best peer of each metric, ours, and the verdict."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.accuracy.answers import calibration_error, error_of_calibrated
from benchmarks.accuracy.data import FOLDED, FOLDED_SETS, SETS
from benchmarks.accuracy.ours import AUTO, COMMAND_LINE, PLAIN
from benchmarks.accuracy.peers import PEERS

METRICS = {"exact_match": "exact match", "hamming": "Hamming score", "f1": "instance F1", "log_loss": "joint log-loss"}
DIGITS = 4
VERDICTS = ("above", "within one s.e.", "below")
STUDY_MEASURES = {"exact_match": "exact_match", "hamming": "hamming_loss", "f1": "instance_f1"}
PAPER_MEASURES = {"exact_match": "exact_match", "exact_match_loss": "exact_match"}
PAPER_MEASURES |= {"hamming_score": "hamming", "hamming_loss": "hamming"}
PAPER_TABLES = {"official_split": "official split", "accuracy_5fold_cv": "cross-validation"}
NOTE = """\
The best peer is chosen on the test rows, separately for each metric, which flatters the peers. Its F1 is the better of
its own predictions and those of the largest expected F1. Probabilities below 1e-12 count as 1e-12. The standard error
is that of our score, over test rows."""


class Score(NamedTuple):
    """Mean over all test rows and seeds, with the standard error over test rows."""

    mean: float
    error: float


class Results:
    """Finished cells; methods that lack a split of a data set are left out there."""

    def __init__(self, cells: list[dict[str, Any]]):
        self.skipped = {(cell["set"], cell["method"]): cell["skipped"] for cell in cells if "skipped" in cell}
        self._cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for cell in cells:
            if "skipped" not in cell:
                self._cells.setdefault((cell["set"], cell["method"]), []).append(cell)
        names = {name for name, _ in self._cells}
        self.sets = sorted(names, key=lambda name: (SETS.index(name) if name in SETS else len(SETS), name))
        self.ours = AUTO if any(method == AUTO for _, method in self._cells) else PLAIN

    def cells(self, name: str, method: str) -> list[dict[str, Any]]:
        own = self._cells.get((name, method), [])
        splits = {cell["split"] for key, cells in self._cells.items() if key[0] == name for cell in cells}
        return own if {cell["split"] for cell in own} == splits else []

    def score(self, name: str, method: str, metric: str) -> Score | None:
        """Return the mean over rows and seeds, None if a method does not have this metric."""
        cells = [cell for cell in self.cells(name, method) if metric in cell["metrics"]]
        if not cells:
            return None
        mean, error, n = (np.array([cell["metrics"][metric][key] for cell in cells]) for key in ("mean", "error", "n"))
        n_seeds = len({cell["seed"] for cell in cells})  # further seeds see the same rows again
        return Score(float(np.average(mean, weights=n)), float(np.linalg.norm(error * n) * np.sqrt(n_seeds) / n.sum()))

    def best_peer(self, name: str, metric: str) -> tuple[str, Score] | None:
        """Return the best peer; for F1, with its own predictions or with those of the largest expected F1."""
        scores = [(method, self.score(name, method, key)) for method in PEERS for key in (metric, f"{metric}_plain")]
        found = [(method, score) for method, score in scores if score is not None]
        sign = -1.0 if metric == "log_loss" else 1.0
        return max(found, key=lambda pair: sign * pair[1].mean) if found else None

    def seconds(self, name: str, method: str, work: str) -> float:
        """Return the mean CPU seconds of "fit" or "predict" on one split."""
        return float(np.mean([cell["cpu_seconds"][work] for cell in self.cells(name, method)] or [np.nan]))


def verdict(metric: str, ours: Score, peer: Score) -> str:
    """Return "above" if ours is better to the digits shown, else whether the peer is within one standard error."""
    lead = round(ours.mean, DIGITS) - round(peer.mean, DIGITS)
    lead = -lead if metric == "log_loss" else lead
    return VERDICTS[0] if lead > 0 else VERDICTS[1] if lead >= -ours.error else VERDICTS[2]


def report(cells: list[dict[str, Any]], study: Path | None = None, paper: Path | None = None) -> str:
    """Return the report as Markdown; `study` and `paper` are CSV files of published figures to show beside ours."""
    results = Results(cells)
    sections = [f"## Against the best peer\n\n{_comparison(results, results.ours)}\n\n{NOTE}"]
    if any(results.cells(name, COMMAND_LINE) for name in results.sets):
        sections.append(f"## Real tables through `montechain fit` alone\n\n{_comparison(results, COMMAND_LINE)}")
    sections.append(_costs(results))
    if paper is not None:
        sections.append(_beside_paper(results, paper))
    if study is not None:
        sections.append(_beside_study(results, study))
    sections.append(_all_scores(results))
    if results.skipped:
        rows = [[name, method, reason] for (name, method), reason in sorted(results.skipped.items())]
        sections.append(f"## Left out because of their cost\n\n{table(['set', 'method', 'why'], rows)}")
    return "\n\n".join(sections)


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a table as Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, ["---"] * len(header), *rows])


def _comparison(results: Results, ours: str) -> str:
    """Return a summary and a table of one of our methods and the best peer, for each set and metric that it has."""
    rows, counts, losses = [], Counter[str](), []
    for name in results.sets:
        for metric, title in METRICS.items():
            best, own = results.best_peer(name, metric), results.score(name, ours, metric)
            if best is None or own is None:
                continue
            method, peer = best
            result = verdict(metric, own, peer)
            counts[result] += 1
            rows.append([
                name, title, f"{peer.mean:.4f} ({method})", f"{own.mean:.4f}", f"{own.error:.4f}", result
            ])  # fmt: skip
            if metric == "log_loss":
                losses.append((own.mean, peer.mean))
    summary = f"{counts.total()} cells: " + ", ".join(f"{counts[word]} {word}" for word in VERDICTS) + "."
    if losses:
        mean, of_peers = np.mean(losses, axis=0)
        summary += f" Mean joint log-loss over {len(losses)} sets: {mean:.3f}; of the best peers: {of_peers:.3f}."
    return f"{summary}\n\n{table(['set', 'metric', 'best peer', f'ours ({ours})', 's.e.', 'verdict'], rows)}"


def _costs(results: Results) -> str:
    rows = []
    for name in results.sets:
        cells = results.cells(name, results.ours)
        if not cells:
            continue
        seconds = [results.seconds(name, results.ours, work) for work in ("fit", "predict")]
        seconds.append(results.seconds(name, "multi_output_forest", "predict"))
        peak, certified = max(cell["peak_mb"] for cell in cells), np.mean([cell["certified"] for cell in cells])
        bins = [cell["calibration"] for cell in cells]
        # A row that several seeds predict is one row: they do not average out its luck.
        alone = error_of_calibrated([cell["calibration"] for cell in cells if cell["seed"] == 0])
        first = [cell for cell in cells if cell["seed"] == 0]
        again = [sum(cell["duplicates"][kind] for cell in first) for kind in ("inputs", "rows")]
        n_rows = sum(cell["metrics"]["exact_match"]["n"] for cell in first)
        line = [name, str(len(cells)), *(f"{value:.2f}" for value in seconds), f"{peak:.0f}", f"{certified:.4f}"]
        rows.append([*line, f"{calibration_error(bins):.3f} ({alone:.3f})", f"{again[0]} / {again[1]} / {n_rows}"])
    header = ["set", "fits", "fit CPU s", "predict CPU s", "forest predict CPU s", "peak MB", "certified"]
    shown = table([*header, "calibration error", "test rows: inputs in train / with labels / all"], rows)
    note = "In brackets: what chance alone gives a perfectly calibrated model on as many rows."
    return f"## Cost, certificates and calibration of {results.ours}\n\n{shown}\n\n{note}"


def _all_scores(results: Results) -> str:
    rows = []
    for name in results.sets:
        for method in (*PEERS, PLAIN, COMMAND_LINE, AUTO):
            scores = [results.score(name, method, metric) for metric in METRICS]
            if any(scores):
                seconds = sum(results.seconds(name, method, work) for work in ("fit", "predict"))
                rows.append([name, method, *(f"{s.mean:.4f}" if s else "–" for s in scores), f"{seconds:.1f}"])
    return f"## All methods\n\n{table(['set', 'method', *METRICS.values(), 'CPU s a split'], rows)}"


def _beside_study(results: Results, study: Path) -> str:
    published = pd.read_csv(study)
    published["data"] = published["data"].str.split("-").str[0]  # tmc2007-500, reuters-k500
    rows = []
    for name in results.sets:
        for metric, measure in STUDY_MEASURES.items():
            chosen = published[(published["data"] == name) & (published["measure"] == measure)]
            own = results.score(name, results.ours, metric)
            if len(chosen) and own is not None:
                values = chosen.set_index("method")["value"]
                values = 1.0 - values if measure == "hamming_loss" else values
                line = [name, METRICS[metric], f"{values.max():.3f} ({values.idxmax()})", f"{values.median():.3f}"]
                rows.append([*line, f"{own.mean:.3f}", f"{1 + (values > own.mean).sum()} of {len(values) + 1}"])
    shown = table(["set", "metric", "best of the study", "its median", f"ours ({results.ours})", "our rank"], rows)
    note = "The study used other training and test parts, so this is for orientation only."
    return f"## Beside the study of 2022\n\n{shown}\n\n{note}"


def _beside_paper(results: Results, paper: Path) -> str:
    """Return the best published cell of each data set and loss, and whether ours reaches it."""
    published = pd.read_csv(paper)
    published["value"] = pd.to_numeric(published["value"], errors="coerce")  # some did not finish
    rows = []
    for (kind, measure, name), group in published.dropna(subset="value").groupby(["table", "measure", "dataset"]):
        metric = PAPER_MEASURES.get(measure)
        own_name = name if kind == "official_split" or f"{name}{FOLDED}" not in results.sets else f"{name}{FOLDED}"
        own = None if metric is None else results.score(own_name, results.ours, metric)
        if own is None or kind not in PAPER_TABLES:
            continue
        is_loss = measure.endswith("_loss")
        best = group.loc[group["value"].idxmin() if is_loss else group["value"].idxmax()]
        digits = 3 if is_loss else 2
        value = round(1.0 - own.mean if is_loss else own.mean, digits)
        is_reached = value <= best["value"] if is_loss else value >= best["value"]
        ours = (
            f"{value:.{digits}f}"
            if is_loss or own_name.endswith(FOLDED) or name not in FOLDED_SETS
            else f"{value:.{digits}f} (official split)"
        )
        line = [
            PAPER_TABLES[kind],
            own_name,
            measure.replace("_", " "),
            f"{best['value']:.{digits}f} ({best['method']})",
        ]
        rows.append([*line, ours, "reached" if is_reached else "**not reached**"])
    rows.sort(key=lambda row: (row[0] != "official split", results.sets.index(row[1]), row[2]))
    header = ["table", "set", "measure", "best of the paper", f"ours ({results.ours})", "verdict"]
    return f"## The paper's best cells\n\n{table(header, rows)}"
