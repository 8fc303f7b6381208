"""``montechain inspect``: what a model is, and what it was learned from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from montechain.cli import options, output
from montechain.cli.models import open_model

__all__ = ["inspect"]

N_SHOWN = 12
"""Lines of each list that a person gets to see; ``--json`` has all."""


def inspect(
    model: Annotated[Path, typer.Argument(help="A model of `montechain fit`, or of `montechain.save`.")],
    n_shown: Annotated[int, typer.Option("--show", "-n", min=1, help="Lines of each list.")] = N_SHOWN,
    as_json: options.Json = False,
) -> None:
    """Show what a model is: its order, its parents, the strongest dependencies between targets, and its origin."""
    from montechain.inspection import inspect_model

    output.settings.as_json = as_json
    opened = open_model(model)
    manifest, about = opened.manifest, opened.about
    facts = inspect_model(opened.classifier)
    if as_json:
        output.print_json({"file": str(model), "manifest": manifest, "model": facts})
        return
    output.print_table(f"{model}", ["", ""], _summary(manifest, about, facts), left=(0, 1))
    for number, order in enumerate(facts["orders"][:n_shown]):
        title = "Order" if len(facts["orders"]) == 1 else f"Order {number + 1}, weight {order['weight']:.3f}"
        output.print_line(f"{title}: {' → '.join(order['order'])}")
    if facts["parents"] and facts["parents_are"] != "all":
        rows = [[label, ", ".join(parents) or "none"] for label, parents in facts["parents"].items()]
        output.print_table("Parents", ["target", "looks at"], rows[:n_shown], left=(0, 1))
    if facts["dependencies"]:
        rows = [
            [
                f"{one['parent']} = {one['parent_class']}",
                f"{one['label']} = {one['label_class']}",
                f"{one['log_odds']:+.2f}",
                f"x {one['odds_ratio']:.3g}",
            ]
            for one in facts["dependencies"][:n_shown]
        ]
        output.print_table(
            "Strongest dependencies in the model", ["if", "then", "log-odds", "odds"], rows, left=(0, 1),
            caption="How much more likely the second becomes by the first, the inputs being the same.",
        )  # fmt: skip
    if pairs := about.get("dependencies"):
        rows = [[*one["targets"], f"{one['information']:.3f}"] for one in pairs[:n_shown]]
        output.print_table(
            "Targets that say most about each other, in the training data",
            ["", "", "mutual information"],
            rows,
            left=(0, 1),
        )


def _summary(manifest: dict[str, Any], about: dict[str, Any], facts: dict[str, Any]) -> list[list[str]]:
    rows = [["model", facts["model"]], *([name, str(value)] for name, value in facts["choices"].items())]
    if about:
        targets = about.get("targets", {})
        rows += [
            ["learned from", f"{about.get('source')}: {about.get('rows')} rows, {len(about.get('inputs', []))} inputs"],
            [
                "targets",
                ", ".join(f"{name} ({len(kinds)})" for name, kinds in list(targets.items())[:N_SHOWN])
                + (", ..." if len(targets) > N_SHOWN else ""),
            ],
            ["unknown cells", str(about.get("unknown_cells", 0))],
            ["fitted", f"{about.get('fitted')}, in {about.get('fit_seconds')} s"],
        ]
    versions = manifest.get("versions", {})
    rows.append(["made with", ", ".join(f"{name} {version}" for name, version in versions.items())])
    return rows
