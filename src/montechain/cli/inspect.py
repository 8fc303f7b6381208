"""``montechain inspect``: show what a model learned, and from what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from montechain.cli import options, output
from montechain.cli.tables import Model, open_model

__all__ = ["inspect"]


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
    if board := facts["leaderboard"][:n_shown]:
        rows = [
            [one["model"], *(_number(one.get(key)) for key in ("log_likelihood", "exact_match", "weight", "seconds"))]
            for one in board
        ]
        headings = ["model", "log-likelihood", "exact match", "weight", "seconds"]
        caption = "Scores of rows that were held out of learning. The pool counts only label vectors seen elsewhere."
        output.print_table("What was learned", headings, rows, caption=caption)
    for number, order in enumerate(facts["orders"][:n_shown], start=1):
        title = "Order" if len(facts["orders"]) == 1 else f"Order {number}, weight {order['weight']:.3f}"
        output.print_line(f"{title}: {' → '.join(order['order'])}")
    if facts["parents"] and facts["parents_are"] != "all":
        rows = [[label, ", ".join(parents) or "none"] for label, parents in facts["parents"].items()]
        output.print_table("Parents", ["target", "depends on"], rows[:n_shown], left=(0, 1))
    if found := facts["dependencies"][:n_shown]:
        rows = [
            [
                f"{one['parent']} = {one['parent_class']}",
                f"{one['label']} = {one['label_class']}",
                f"{one['log_odds']:+.2f}",
                f"x {one['odds_ratio']:.3g}",
            ]
            for one in found
        ]
        caption = "How the first changes the odds of the second, for the same inputs."
        headings = ["if", "then", "log-odds", "odds"]
        output.print_table("Strongest dependencies in the model", headings, rows, left=(0, 1), caption=caption)
    if pairs := opened.about.get("dependencies", [])[:n_shown]:
        rows = [[*one["targets"], f"{one['information']:.3f}"] for one in pairs]
        output.print_table(
            "Strongest dependencies in the training data", ["", "", "mutual information"], rows, left=(0, 1)
        )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


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
