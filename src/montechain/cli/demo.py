"""``montechain demo``: what montechain does, on bundled data."""

from __future__ import annotations

from typing import Any

import montechain as mc
from montechain.cli import options, output
from montechain.cli.evaluate import SHOWN, print_scores

__all__ = ["demo"]

COMPARED = ("Majority", "IC", "CC", "MCC", "LP", "Boosting")
SHADES = " ░▒▓█"
PLAIN_SHADES = " .:*#"


def demo(seed: options.Seed = 0, as_json: options.Json = False) -> None:
    """Compare methods on half-hidden digits (bundled data).

    The facts depend on each other: an even prime can only be a two. Methods that know this get whole rows right.
    """
    from montechain.datasets import load_dataset
    from montechain.evaluation import evaluate

    digits = load_dataset("digits")
    train, test = digits.split  # type: ignore[misc]
    names = ", ".join(digits.label_names)
    if not as_json:
        output.print_line(
            f"Learn from {len(train.Y)} handwritten digits, test on {len(test.Y)}; the left half of each image is "
            f"hidden. Predict all at once: {names}."
        )
    fitted: list[Any] = []

    class Kept(mc.AutoChainClassifier):
        """Keeps the model that is fitted for the table, so that it can answer the examples too."""

        def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
            fitted.append(super().fit(X, y, sample_weight, **fit_params))
            return self

    models: dict[str, Any] = {name: mc.make_method(name, random_state=seed) for name in COMPARED}
    models["Auto"] = Kept(random_state=seed)
    with output.progress("learning", len(models)) as advance:
        results = evaluate(
            digits, models, folds="official", seed=seed, measures=list(SHOWN), encoder="passthrough",
            on_result=lambda rows: advance(1),
        )  # fmt: skip
    examples = _examples(fitted[-1], test)
    if as_json:
        output.print_json({"results": results.to_dict("records"), "examples": examples})
        return
    output.print_line()
    caption = (
        "exact match: all six facts right. Majority: always the most common combination. IC: each fact by itself. "
        "CC: a chain, greedy answer. MCC: a chain, best of 100 draws. LP: each combination is a class. "
        "Boosting: boosted trees for each fact. Auto: the default of `montechain fit`."
    )
    print_scores("Scores", results, caption)
    _print_examples(examples, digits.label_names)
    output.print_line("With a table of your own: montechain fit FILE --targets A,B,C -o model.mchain")
    output.print_line(
        "To try that now: montechain data export digits -o digits.csv && montechain fit digits.csv "
        f"--targets {names.replace(' ', '')} -o digits.mchain"
    )


def _examples(model: Any, test: mc.Dataset) -> list[dict[str, Any]]:
    """Return three test rows: a clear one, one in between, and a doubtful one."""
    import numpy as np

    decision = model.decide(test.X)
    by_probability = np.argsort(-decision.log_proba, kind="stable")
    chosen = [int(by_probability[round(share * (len(by_probability) - 1))]) for share in (0.02, 0.6, 0.97)]
    labels = np.asarray(decision.labels, dtype=object)
    truth = test.Y.to_numpy(dtype=object)
    return [
        {
            "image": test.X.iloc[row].to_numpy().reshape(8, 8).tolist(),
            "predicted": dict(zip(test.label_names, labels[row].tolist(), strict=True)),
            "truth": dict(zip(test.label_names, truth[row].tolist(), strict=True)),
            "probability": float(np.exp(decision.log_proba[row])),
            "certified": bool(decision.certified[row]),
        }
        for row in chosen
    ]


def _print_examples(examples: list[dict[str, Any]], names: list[str]) -> None:
    from rich.text import Text

    shades = SHADES if output.encodes(SHADES) else PLAIN_SHADES
    rows: list[list[Any]] = []
    for one in examples:
        picture = "\n".join("".join(2 * shades[round(4 * ink)] for ink in line) for line in one["image"])
        facts = Text()
        for name in names:
            right = one["predicted"][name] == one["truth"][name]
            facts.append(f"{name}: {one['predicted'][name]}")
            facts.append("\n" if right else f"  (truth: {one['truth'][name]})\n", style="" if right else "red")
        proof = "proven: no combination is more probable" if one["certified"] else "not proven to be the best"
        rows.append([picture, facts, f"{one['probability']:.3f}", proof])
    columns = ["image", "answer", "probability", "certificate"]
    output.print_table("Three answers of Auto", columns, rows, left=(0, 1, 3))
