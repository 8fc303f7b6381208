"""``montechain demo``: what it is about, on data that need no download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from montechain.cli import options, output
from montechain.cli.scores import SHOWN, print_scores

if TYPE_CHECKING:
    from montechain.datasets import Dataset

__all__ = ["demo"]

SHADES = " ░▒▓█"
PLAIN_SHADES = " .:*#"


def demo(seed: options.Seed = 0, as_json: options.Json = False) -> None:
    """Learn six facts about half-hidden hand-written digits with several methods, and show what each is worth.

    The facts depend on each other: an even prime can only be a two. Methods that know it get whole rows right.
    """
    from montechain import ChainClassifier
    from montechain.datasets import load_digits_facts
    from montechain.evaluation import evaluate
    from montechain.methods import make_method

    output.settings.as_json = as_json
    digits = load_digits_facts()
    train, test = digits.split  # type: ignore[misc]
    if not as_json:
        output.print_line(
            f"{len(train.Y)} hand-written digits to learn from and {len(test.Y)} to be tested on, the left half of "
            f"each image hidden. To predict, all at once: {', '.join(digits.label_names)}."
        )
    named: dict[str, Any] = {name: make_method(name, random_state=seed) for name in ("Majority", "IC", "CC", "MCC")}
    named["montechain"] = ChainClassifier(random_state=seed)
    with output.progress("learning", len(named)) as advance:
        results = evaluate(
            digits, named, folds="official", seed=seed, measures=list(SHOWN), encoder="passthrough",
            on_result=lambda rows: advance(1),
        )  # fmt: skip
    model = named["montechain"].fit(train.X, train.Y)
    examples = _examples(model, test)
    if as_json:
        output.print_json({"results": results.to_dict("records"), "examples": examples})
        return
    output.print_line()
    print_scores(
        "How good they are", results,
        caption="exact match: all six facts right. Majority: always the commonest combination. IC: each fact by "
        "itself. CC: a chain, the greedy answer. MCC: the best of 100 draws. montechain: the best answer, proven.",
    )  # fmt: skip
    _print_examples(examples, digits.label_names)
    output.print_line("With a table of your own: montechain fit FILE --targets A,B,C -o model.mchain")
    output.print_line(
        "To try that first: montechain data export digits -o digits.csv && montechain fit digits.csv "
        f"--targets {','.join(digits.label_names)} -o digits.mchain"
    )


def _examples(model: Any, test: Dataset) -> list[dict[str, Any]]:
    """Return three test rows: one that is clear, one in between, and one in doubt."""
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
        proof = "no combination is more probable: proven" if one["certified"] else "not proven to be the best"
        rows.append([picture, facts, f"{one['probability']:.3f}", proof])
    columns = ["what it sees", "its answer", "probability", "certificate"]
    output.print_table("Three of its answers", columns, rows, left=(0, 1, 3))
