"""``montechain inspect``: show what a model learned, and from what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from montechain.cli import options, output
from montechain.cli.tables import Model, open_model

__all__ = ["inspect"]

DEPENDENCY = ("{parent} = {parent_class}", "{label} = {label_class}", "x {odds_ratio:.3g}")
BOARD = {"log_likelihood": "log-likelihood", "exact_match": "exact match", "weight": "weight", "seconds": "seconds"}


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `fit` or `montechain.save` wrote.")],
    n_shown: Annotated[int, typer.Option("--show", "-n", min=1, help="Maximum number of lines of each list.")] = 12,
    as_json: options.Json = False,
) -> None:
    """Show what a model learned, and from what."""
    from montechain.inspection import inspect_model

    opened = open_model(model)
    facts = inspect_model(opened.classifier)
    if as_json:
        output.print_json({"file": str(model), "manifest": opened.manifest, "model": facts})
        return
    output.print_table(str(model), ["", ""], _summary(opened, facts, n_shown), left=(0, 1))
    if facts["leaderboard"]:
        caption = "Scores of rows that were held out of learning. The pool counts only label vectors seen elsewhere."
        rows = [
            [one["model"], *("" if one.get(key) is None else f"{one[key]:.3f}" for key in BOARD)]
            for one in facts["leaderboard"]
        ]
        output.print_table("What was learned", ["model", *BOARD.values()], rows[:n_shown], caption=caption)
    for number, order in enumerate(facts["orders"][:n_shown], start=1):
        title = "Order" if len(facts["orders"]) == 1 else f"Order {number}, weight {order['weight']:.3f}"
        output.print_line(f"{title}: {' → '.join(order['order'])}")
    if facts["parents"] and facts["parents_are"] != "all":
        rows = [[label, ", ".join(parents) or "none"] for label, parents in facts["parents"].items()]
        output.print_table("Parents", ["target", "depends on"], rows[:n_shown], left=(0, 1))
    if facts["dependencies"]:
        caption = "How the first changes the odds of the second, for the same inputs."
        rows = [[template.format(**one) for template in DEPENDENCY] for one in facts["dependencies"][:n_shown]]
        output.print_table("Strongest dependencies", ["if", "then", "odds"], rows, left=(0, 1), caption=caption)


def _summary(model: Model, facts: dict[str, Any], n_shown: int) -> list[list[str]]:
    rows = [["model", facts["model"]], *([name, str(value)] for name, value in facts["choices"].items())]
    if about := model.about:
        targets = [f"{name} ({len(kinds)})" for name, kinds in about.get("targets", {}).items()]
        more = ["..."] if len(targets) > n_shown else []
        n_inputs = len(model.recorded("inputs"))
        rows += [
            ["learned from", f"{about.get('source')}: {about.get('rows')} rows, {n_inputs} inputs"],
            ["targets", ", ".join([*targets[:n_shown], *more])],
            ["missing targets", str(about.get("unknown_cells", 0))],
            ["fitted", f"{about.get('fitted')}, in {about.get('fit_seconds')} s"],
        ]
    versions = model.manifest.get("versions", {})
    return [*rows, ["made with", ", ".join(f"{name} {version}" for name, version in versions.items())]]
