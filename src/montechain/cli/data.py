"""``montechain data``, ``methods`` and ``warmup``: what has a name, and compiling everything at once."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

import montechain as mc
from montechain._files import protect_files
from montechain.cli import options, output

__all__ = ["data", "methods", "warmup"]

data = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@data.callback()
def show_help(context: typer.Context) -> None:
    """List the data sets that have a name, or write one as a table."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@data.command("list")
def list_command(data: options.Data = None, as_json: options.Json = False) -> None:
    """List the data sets by name, with their figures.

    N rows, L targets, K classes of a target, d inputs, LC label cardinality (relevant labels per row).
    """
    from montechain.datasets import list_datasets

    entries = list_datasets(data)
    if as_json:
        output.print_json([entry.as_dict() for entry in entries])
        return
    rows = [[entry.name, *entry.shown_figures(), entry.state] for entry in entries]
    columns = ["name", "N", "L", "K", "d", "LC", "paper: N", "L", "K", "d", "LC", "state"]
    caption = "" if data else "To use data sets that are not bundled: --data FOLDER, or MONTECHAIN_DATA=FOLDER."
    output.print_table("Data sets", columns, rows, left=(0, 11), caption=caption)


@data.command("export")
def export_command(
    name: Annotated[str, typer.Argument(help="A name from `montechain data list`.")],
    file: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A .csv, .tsv, .parquet or .feather file.")
    ],
    data: options.Data = None,
    force: options.Force = False,
) -> None:
    """Write a data set as a table, the targets in the last columns."""
    from montechain.datasets import write_table
    from montechain.datasets.files import check_table_path

    check_table_path(file)
    protect_files(file, force=force)
    with output.progress("exporting"):
        dataset = mc.load_dataset(name, data=data)
        write_table(dataset.to_frame(), file)
    names = shlex.quote(",".join(f'"{label}"' if "," in label else label for label in dataset.label_names))
    source, model = shlex.quote(str(file)), shlex.quote(f"{file.stem}.mchain")
    output.note(f"Wrote {len(dataset.Y)} rows to {file}. Next: montechain fit {source} --targets {names} -o {model}")


def methods(as_json: options.Json = False) -> None:
    """List the methods that `fit` and `evaluate` know by name."""
    from montechain.methods import BASELINES

    fields = ("name", "full_name", "parameters", "reference")
    rows = [[getattr(method, field) for field in fields] for method in [*mc.METHODS.values(), *BASELINES.values()]]
    if as_json:
        output.print_json([dict(zip(fields, row, strict=True)) for row in rows])
    else:
        output.print_table("Methods", ["name", "what it is", "parameters", "reference"], rows, left=(0, 1, 2, 3))


def warmup() -> None:
    """Compile everything now, so that no later command waits.

    Run it once when you build an image or set up a machine. What is compiled already is not compiled again.
    """
    from montechain.warm_up import warm_up

    with output.progress("compiling"):
        seconds = warm_up()
    output.print_line(
        f"Compiled everything in {seconds:.0f} s of CPU." if seconds else "Everything was compiled already."
    )
