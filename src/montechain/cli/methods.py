"""``montechain methods``: the methods by name."""

from __future__ import annotations

from montechain.cli import options, output

__all__ = ["methods"]


def methods(as_json: options.Json = False) -> None:
    """List the methods of the paper, which `fit` and `evaluate` know by name."""
    from montechain.methods import BASELINES, METHODS

    output.settings.as_json = as_json
    every = [*METHODS.values(), *BASELINES.values()]
    if as_json:
        fields = ("name", "full_name", "parameters", "reference")
        output.print_json([{field: getattr(method, field) for field in fields} for method in every])
        return
    rows = [[method.name, method.full_name, method.parameters, method.reference] for method in every]
    output.print_table("Methods", ["name", "what it is", "parameters", "reference"], rows, left=(0, 1, 2, 3))
