"""One table from the finished cells: the best peer of each metric, ours, and the verdict."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy.answers import calibration_error
from benchmarks.accuracy.data import SETS
from benchmarks.accuracy.ours import AUTO, PLAIN
from benchmarks.accuracy.peers import PEERS

METRICS = {"exact_match": "exact match", "hamming": "Hamming score", "f1": "instance F1", "log_loss": "joint log-loss"}
VERDICTS = ("above", "within one s.e.", "below")
STUDY_MEASURES = {"exact_match": "exact_match", "hamming": "hamming_loss", "f1": "instance_f1"}


class Score(NamedTuple):
    """Mean over all test rows and seeds, with the standard error over test rows."""

    mean: float
    error: float


class Results:
    """Cells by data set and method."""

    def __init__(self, cells: Iterable[dict[str, Any]]):
        self.skipped: dict[tuple[str, str], str] = {}
        self._cells: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for cell in cells:
            key = cell["set"], cell["method"]
            if "skipped" in cell:
                self.skipped[key] = cell["skipped"]
            else:
                self._cells[key].append(cell)
        self.sets = [name for name in SETS if any(name == key[0] for key in self._cells)]
        self.sets += sorted({key[0] for key in self._cells} - set(self.sets))

    def cells(self, name: str, method: str) -> list[dict[str, Any]]:
        """Return the cells of a method; none if it lacks a part of the data set that others have."""
        own = self._cells.get((name, method), [])
        splits = {cell["split"] for key, cells in self._cells.items() if key[0] == name for cell in cells}
        return own if {cell["split"] for cell in own if cell["seed"] == 0} == splits else []

    def score(self, name: str, method: str, metric: str) -> Score | None:
        """Return the mean over rows and seeds, None if a method does not have this metric."""
        found = [cell["metrics"][metric] for cell in self.cells(name, method) if metric in cell["metrics"]]
        if not found:
            return None
        n, n_seeds = np.array([own["n"] for own in found]), self.n_seeds(name, method)
        mean = float(np.average([own["mean"] for own in found], weights=n))
        squares = [own.get("error", 0.0) ** 2 * own["n"] ** 2 for own in found]
        # The rows of all splits are averaged; further seeds see the same rows again.
        return Score(mean, float(np.sqrt(np.sum(squares) / n_seeds)) / (n.sum() / n_seeds))

    def n_seeds(self, name: str, method: str) -> int:
        return len({cell["seed"] for cell in self.cells(name, method)})

    def per_split(self, name: str, method: str, *path: str) -> float:
        """Return the mean of a figure over the cells; NaN where there is none."""
        values = []
        for cell in self.cells(name, method):
            value: Any = cell
            for key in path:
                value = None if value is None else value.get(key)
            values.append(np.nan if value is None else value)
        return float(np.mean(values)) if values else np.nan

    def best_peer(self, name: str, metric: str) -> tuple[str, Score] | None:
        """Return the best peer; for F1, with its own predictions or with those of the largest expected F1."""
        found = []
        for method in PEERS:
            for variant in (metric, f"{metric}_plain"):
                score = self.score(name, method, variant)
                if score is not None:
                    found.append((method, score))
        sign = -1.0 if metric == "log_loss" else 1.0
        return max(found, key=lambda pair: sign * pair[1].mean) if found else None


def verdict(metric: str, ours: Score, peer: Score) -> str:
    """Return "above" where ours is strictly better, else whether it is within one standard error of ours."""
    lead = peer.mean - ours.mean if metric == "log_loss" else ours.mean - peer.mean
    return VERDICTS[0] if lead > 0 else VERDICTS[1] if lead >= -ours.error else VERDICTS[2]


def report(cells: list[dict[str, Any]], study: Path | None = None) -> str:
    """Return the report as Markdown."""
    results = Results(cells)
    ours = AUTO if any(cell["method"] == AUTO for cell in cells) else PLAIN
    sections = [_comparison(results, ours), _costs(results, ours), _all_scores(results, ours)]
    if study is not None:
        sections.append(_beside_study(results, ours, study))
    if results.skipped:
        sections.append(_skipped(results))
    return "\n\n".join(sections)


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _comparison(results: Results, ours: str) -> str:
    rows, counts, losses = [], Counter[str](), []
    for name in results.sets:
        for metric, title in METRICS.items():
            peer, own = results.best_peer(name, metric), results.score(name, ours, metric)
            if peer is None:
                continue
            line = [name, title, f"{peer[1].mean:.4f} ({peer[0]})"]
            if own is None:
                rows.append([*line, "–", "–", "missing"])
                continue
            result = verdict(metric, own, peer[1])
            counts[result] += 1
            losses += [(own.mean, peer[1].mean)] if metric == "log_loss" else []
            rows.append([*line, f"{own.mean:.4f}", f"{own.error:.4f}", result])
    table = _table(["set", "metric", "best peer", f"ours ({ours})", "s.e.", "verdict"], rows)
    total = sum(counts.values())
    summary = f"{total} cells: " + ", ".join(f"{counts[word]} {word}" for word in VERDICTS) + "."
    if losses:
        mean, of_peers = np.mean(losses, axis=0)
        summary += f" Mean joint log-loss over {len(losses)} sets: {mean:.3f}; of the best peers: {of_peers:.3f}."
    note = (
        "The best peer is chosen on the test rows, separately for each metric, which flatters the peers. Its F1 is the "
        "better of its own predictions and those of the largest expected F1. Probabilities below 1e-12 count as 1e-12. "
        "The standard error is that of our score, over test rows."
    )
    return f"## Against the best peer\n\n{summary}\n\n{table}\n\n{note}"


def _costs(results: Results, ours: str) -> str:
    rows = []
    for name in results.sets:
        bins = [cell["calibration"] for cell in results.cells(name, ours)]
        error = f"{calibration_error(bins):.3f}" if bins else "–"
        figures = [results.per_split(name, ours, "cpu_seconds", part) for part in ("fit", "predict")]
        figures.append(results.per_split(name, "multi_output_forest", "cpu_seconds", "predict"))
        peak, certified = results.per_split(name, ours, "peak_mb"), results.per_split(name, ours, "certified")
        any_method = next((m for m in (ours, *PEERS) if results.cells(name, m)), ours)
        cells = [cell for cell in results.cells(name, any_method) if cell["seed"] == 0]
        n = sum(cell["metrics"]["exact_match"]["n"] for cell in cells)
        same_inputs, same_rows = (sum(cell["duplicates"][key] for cell in cells) for key in ("inputs", "rows"))
        line = [name, str(results.n_seeds(name, ours)), *(f"{value:.2f}" for value in figures)]
        rows.append([*line, f"{peak:.0f}", f"{certified:.4f}", error, f"{same_inputs}/{same_rows}/{n}"])
    header = ["set", "seeds", "fit CPU s", "predict CPU s", "forest predict CPU s", "peak MB", "certified"]
    table = _table([*header, "calibration error", "test rows in train: inputs/with labels/of"], rows)
    return f"## Cost, certificates and calibration of {ours}\n\n{table}"


def _all_scores(results: Results, ours: str) -> str:
    methods = [*PEERS, PLAIN, *([AUTO] if ours == AUTO else [])]
    rows = []
    for name in results.sets:
        for method in methods:
            scores = [results.score(name, method, metric) for metric in METRICS]
            if any(scores):
                seconds = sum(results.per_split(name, method, "cpu_seconds", part) for part in ("fit", "predict"))
                rows.append([name, method, *(f"{s.mean:.4f}" if s else "–" for s in scores), f"{seconds:.1f}"])
    return f"## All methods\n\n{_table(['set', 'method', *METRICS.values(), 'CPU s a split'], rows)}"


def _beside_study(results: Results, ours: str, study: Path) -> str:
    values: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    with study.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            values[_study_set(row["data"], results.sets), row["measure"]].append((float(row["value"]), row["method"]))
    rows = []
    for name in results.sets:
        for metric, measure in STUDY_MEASURES.items():
            if found := values.get((name, measure)):
                scores = [(1.0 - value if measure.endswith("loss") else value, method) for value, method in found]
                best, method = max(scores)
                own = results.score(name, ours, metric)
                rank = "–" if own is None else str(1 + sum(score > own.mean for score, _ in scores))
                shown = "–" if own is None else f"{own.mean:.3f}"
                median = float(np.median([score for score, _ in scores]))
                rows.append([name, METRICS[metric], f"{best:.3f} ({method})", f"{median:.3f}", shown, rank])
    table = _table(["set", "metric", "best of the study", "its median", f"ours ({ours})", "our rank"], rows)
    note = "The study used other training and test parts: orientation, not a comparison."
    return f"## Beside the study of 2022\n\n{table}\n\n{note}"


def _study_set(name: str, sets: list[str]) -> str:
    return name if name in sets else name.split("-")[0]


def _skipped(results: Results) -> str:
    rows = [[name, method, reason] for (name, method), reason in sorted(results.skipped.items())]
    return f"## Left out because of their cost\n\n{_table(['set', 'method', 'why'], rows)}"
