"""All commands, their common options, and the short commands: ``inspect``, ``data``, ``methods``, ``warmup``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

import montechain as mc
from montechain._files import protect_files
from montechain.cli import options, output
from montechain.cli.demo import demo
from montechain.cli.evaluate import evaluate
from montechain.cli.fit import fit
from montechain.cli.predict import predict
from montechain.cli.tables import Model, open_model

app = typer.Typer(
    name="montechain",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success, 1 a bug in montechain, 2 wrong arguments, 3 unusable data, 4 unusable model, 5 "
    "output cannot be written, 130 interrupted.",
)
data = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

BOARD = {"log_likelihood": "log-likelihood", "exact_match": "exact match", "weight": "weight", "seconds": "seconds"}


@app.callback()
def montechain(
    context: typer.Context,
    version: Annotated[bool, options.flag("--version", help="Print the version.")] = False,
    quiet: Annotated[bool, options.flag("--quiet", "-q", help="Print only results and errors.")] = False,
    traceback: Annotated[bool, options.flag("--traceback", help="Show the traceback of an error.")] = False,
) -> None:
    """Predict several columns of a table at once.

    `montechain demo` shows what it does on bundled data. With a table of your own:

    \b
      montechain fit bridges.csv --targets type,material,span -o bridges.mchain
      montechain predict bridges.mchain new.csv -o predicted.csv
    """  # noqa: D301
    # `output.has_option` finds the other options.
    if version:
        print(f"montechain {mc.__version__}")
        raise typer.Exit
    _help_without_command(context)


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `fit` or `montechain.save` wrote.")],
    n_shown: Annotated[int, typer.Option("--show", "-n", min=1, help="Maximum number of lines in each list.")] = 12,
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
        caption = "Scores on held-out rows. The pool's scores count only label vectors that also occur in other rows."
        rows = [
            [one["model"], *("" if one.get(key) is None else f"{one[key]:.3f}" for key in BOARD)]
            for one in facts["leaderboard"]
        ]
        output.print_table("What was learned", ["model", *BOARD.values()], rows[:n_shown], caption=caption)
    for number, order in enumerate(facts["orders"][:n_shown], start=1):
        title = "Order" if len(facts["orders"]) == 1 else f"Order {number}, weight {order['weight']:.3f}"
        output.print_line(f"{title}: {' → '.join(order['order'])}")
    if facts["parents"] and facts["choices"].get("parents") != "all":
        rows = [[label, ", ".join(parents) or "none"] for label, parents in facts["parents"].items()]
        output.print_table("Parents", ["target", "depends on"], rows[:n_shown], left=(0, 1))


def _summary(model: Model, facts: dict[str, Any], n_shown: int) -> list[list[str]]:
    rows = [["model", facts["model"]], *([name, str(value)] for name, value in facts["choices"].items())]
    if about := model.about:
        targets = [f"{name} ({len(kinds)})" for name, kinds in about.get("targets", {}).items()]
        more = ["..."] if len(targets) > n_shown else []
        rows += [
            ["learned from", f"{about.get('source')}: {about.get('rows')} rows, {len(about.get('inputs', []))} inputs"],
            ["targets", ", ".join([*targets[:n_shown], *more])],
            ["left out", ", ".join(about.get("dropped", [])) or "nothing"],
            ["missing targets", str(about.get("unknown_cells", 0))],
            ["fitted", f"{about.get('fitted')}, in {about.get('fit_seconds')} s"],
        ]
    versions = model.manifest.get("versions", {})
    return [*rows, ["made with", ", ".join(f"{name} {version}" for name, version in versions.items())]]


@data.callback()
def _help_without_command(context: typer.Context) -> None:
    """Write bundled data as a table."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@data.command("export")
def export_command(
    name: Annotated[str, typer.Argument(help="The bundled data set: digits.")],
    file: Annotated[Path, typer.Option("--output", "-o", help="A .csv, .tsv, .parquet or .feather file.")],
    force: options.Force = False,
) -> None:
    """Write bundled data as a table, the targets in the last columns."""
    from montechain.datasets import write_table
    from montechain.datasets.files import check_table_path

    if name != "digits":
        raise ValueError(f"{name!r} is not a bundled data set. Type: montechain data export digits -o {file}")
    check_table_path(file)
    protect_files(file, force=force)
    dataset = mc.load_digits_facts()
    write_table(dataset.to_frame(), file)
    targets, source = ",".join(dataset.label_names), shlex.quote(str(file))
    model = shlex.quote(f"{file.stem}.mchain")
    output.note(f"Wrote {len(dataset.Y)} rows to {file}. Next: montechain fit {source} --targets {targets} -o {model}")


def methods() -> None:
    """List the methods that `fit` and `evaluate` know by name."""
    from montechain.methods import BASELINES

    known = [*mc.METHODS.values(), *BASELINES.values()]
    rows = [[method.name, method.full_name, method.parameters, method.reference] for method in known]
    output.print_table("Methods", ["name", "what it is", "parameters", "reference"], rows, left=(0, 1, 2, 3))


def warmup() -> None:
    """Compile everything now, so that no later command waits.

    Run it once when you build an image or set up a machine. Kernels that are already compiled are skipped.
    """
    from montechain.warm_up import warm_up

    with output.progress("compiling"):
        seconds = warm_up()
    output.print_line(f"Compilation took {seconds:.0f} s of CPU." if seconds else "Everything was already compiled.")


for command in (demo, fit, predict, evaluate, inspect, methods, warmup):
    app.command()(command)
app.add_typer(data, name="data")
