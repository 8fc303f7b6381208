"""``montechain demo``: what montechain does, on bundled data."""

from __future__ import annotations

import sys
from typing import Any

import montechain as mc
from montechain.cli import options, output
from montechain.cli.evaluate import SHOWN

N_TRAINING_ROWS, N_TEST_ROWS = 400, 1000
"""Of the 1797 images: enough to see how the methods differ, in a few seconds."""
COMPARED = ("Majority", "IC", "CC", "MCC", "LP", "Boosting", "Auto")
SCORES = {"exact_match": ".3f", "hamming_score": ".3f", "certified": ".0%"}
FORMATS = SCORES | dict.fromkeys(("fit_seconds", "predict_seconds"), ".2f")
"""Measures in the table, with their formats."""
CAPTION = (
    "exact match: all six facts right. Hamming score: share of single facts right. certified: no answer is more "
    "probable under the model. Majority: always the most common combination. IC: each fact by itself. CC: a chain, "
    "greedy answer. MCC: a chain, best of 100 draws. LP: each combination is a class. Boosting: boosted trees "
    "for each fact. Auto: the default of `montechain fit`. Times do not include compilation."
)


def demo(seed: options.Seed = 0) -> None:
    """Compare methods on half-hidden digits (bundled data).

    The facts depend on each other: an even prime can only be a two. Methods that know this get whole rows right.
    """
    from sklearn.model_selection import train_test_split

    from montechain._threads import one_blas_thread
    from montechain.evaluation.comparison import measure_fold

    digits = mc.load_digits_facts()
    rows = train_test_split(range(len(digits.Y)), train_size=N_TRAINING_ROWS, test_size=N_TEST_ROWS, random_state=seed)
    output.print_line("Predict six facts about handwritten digits at once; the left half of each image")
    output.print_line(f"is hidden. {N_TRAINING_ROWS} images to learn from, {N_TEST_ROWS} to test on.\n")
    scores, model = [], None
    # The data are small: several threads would mostly wait for each other.
    with output.progress("learning", len(COMPARED)) as advance, one_blas_thread():
        for name in COMPARED:
            model = mc.make_method(name, random_state=seed)
            found = measure_fold(model, digits, rows)["values"]
            scores.append([name, *(f"{found[measure]:{form}}" for measure, form in FORMATS.items())])
            advance(1)
    output.print_table("Scores", ["method", *map(SHOWN.__getitem__, FORMATS)], scores, caption=CAPTION)
    _print_examples(model, digits.take(rows[1]))
    output.print_line("With a table of your own: montechain fit FILE --targets A,B,C -o model.mchain")
    output.print_line("To try that now:")
    output.print_line("  montechain data export digits -o digits.csv")
    output.print_line(f"  montechain fit digits.csv --targets {','.join(digits.label_names)} -o digits.mchain")


def _print_examples(model: Any, test: mc.Dataset) -> None:
    """Show three test rows: a clear one, one in between, and a doubtful one."""
    import numpy as np

    decision = model.decide(test.X)
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
        proven = "yes" if decision.certified[row] else "no"
        rows.append([picture, "\n".join(facts), f"{np.exp(decision.log_proba[row]):.3f}", f"{proven}\n"])
    columns = ["image", "answer", "probability", "certified"]
    output.print_table("Three answers of Auto: sure, less sure, doubtful", columns, rows, left=(0, 1))
