"""``montechain demo``: what montechain does, on bundled data."""

from __future__ import annotations

import sys
from typing import Any

import montechain as mc
from montechain.cli import options, output
from montechain.cli.evaluate import print_scores

N_TRAINING_ROWS, N_TEST_ROWS = 400, 1000
"""Of the 1797 images: enough to see how the methods differ, in a few seconds."""
COMPARED = ("Majority", "IC", "CC", "MCC", "LP", "Boosting")
CAPTION = (
    "exact match: all six facts right. Majority: always the most common combination. IC: each fact by itself. "
    "CC: a chain, greedy answer. MCC: a chain, best of 100 draws. LP: each combination is a class. "
    "Boosting: boosted trees for each fact. Auto: the default of `montechain fit`."
)


def demo(seed: options.Seed = 0) -> None:
    """Compare methods on half-hidden digits (bundled data).

    The facts depend on each other: an even prime can only be a two. Methods that know this get whole rows right.
    """
    from sklearn.model_selection import ShuffleSplit

    from montechain._threads import one_blas_thread
    from montechain.evaluation import evaluate

    digits = mc.load_digits_facts()
    split = ShuffleSplit(1, train_size=N_TRAINING_ROWS, test_size=N_TEST_ROWS, random_state=seed)
    names = ", ".join(digits.label_names)
    output.print_line(
        f"Learn from {N_TRAINING_ROWS} handwritten digits, test on {N_TEST_ROWS}; the left half of each image is "
        f"hidden. Predict all at once: {names}.\n"
    )
    decisions: list[Any] = []

    class Auto(mc.AutoChainClassifier):
        """Keeps the decisions that are made for the table, to show some of them."""

        def decide(self, X: Any, *, given: Any = None) -> Any:
            decisions.append(super().decide(X, given=given))
            return decisions[-1]

    models: dict[str, Any] = {name: mc.make_method(name, random_state=seed) for name in COMPARED}
    models["Auto"] = Auto(random_state=seed)
    # The data are small: several threads would mostly wait for each other.
    with output.progress("learning", len(models)) as advance, one_blas_thread():
        results = evaluate(
            digits, models, folds=split, seed=seed, encoder="passthrough",
            on_result=lambda rows: advance(1),
        )  # fmt: skip
    print_scores("Scores", results, CAPTION)
    _print_examples(decisions[-1], digits.take(next(split.split(digits.X))[1]))
    output.print_line("With a table of your own: montechain fit FILE --targets A,B,C -o model.mchain")
    output.print_line(
        "To try that now: montechain data export digits -o digits.csv && montechain fit digits.csv "
        f"--targets {names.replace(' ', '')} -o digits.mchain"
    )


def _print_examples(decision: Any, test: mc.Dataset) -> None:
    """Show three test rows: a clear one, one in between, and a doubtful one."""
    import numpy as np

    shades = " ░▒▓█" if (sys.stdout.encoding or "").lower().startswith("utf") else " .:*#"
    by_probability = np.argsort(-decision.log_proba, kind="stable")
    rows = []
    for share in (0.02, 0.6, 0.97):
        row = by_probability[round(share * (len(by_probability) - 1))]
        image = test.X.iloc[row].to_numpy().reshape(8, 8)
        picture = "\n".join("".join(2 * shades[round(4 * ink)] for ink in line) for line in image)
        facts = [
            f"{name}: {found}" + ("" if found == truth else f"  (truth: {truth})")
            for (name, truth), found in zip(test.Y.iloc[row].items(), np.asarray(decision.labels)[row], strict=True)
        ]
        proof = "proven: no combination is more probable" if decision.certified[row] else "not proven to be the best"
        rows.append([picture, "\n".join(facts), f"{np.exp(decision.log_proba[row]):.3f}", f"{proof}\n"])
    columns = ["image", "answer", "probability", "certificate"]
    output.print_table("Three answers of Auto", columns, rows, left=(0, 1, 3))
