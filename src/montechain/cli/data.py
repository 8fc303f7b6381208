"""``montechain data``: the catalogue of data sets."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from montechain.cli import options, output

__all__ = ["data"]

data = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")


@data.callback()
def show_help(context: typer.Context) -> None:
    """List the data sets that have a name, or write one as a table."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@data.command("list")
def list_command(data: options.Data = None, as_json: options.Json = False) -> None:
    """List the data sets by name, with the paper's figures and those of the files at hand.

    N rows, L targets, K classes of a target, d inputs, LC label cardinality: relevant labels per row.
    """
    from montechain.datasets import list_datasets

    output.settings.as_json = as_json
    entries = list_datasets(data)
    if as_json:
        output.print_json([entry.as_dict() for entry in entries])
        return
    rows = [[entry.name, *entry.shown_figures(), entry.state] for entry in entries]
    columns = ["name", "N", "L", "K", "d", "LC", "paper: N", "L", "K", "d", "LC", "state"]
    caption = "" if data else "No folder of data is set: say where with --data FOLDER or MONTECHAIN_DATA=FOLDER."
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
    from montechain._files import protect_files
    from montechain.datasets import load_dataset, write_table
    from montechain.datasets.files import check_table_path

    check_table_path(file)
    protect_files(file, force=force)
    with output.progress("exporting"):
        dataset = load_dataset(name, data=data)
        write_table(dataset.to_frame(), file)
    names = shlex.quote(",".join(f'"{label}"' if "," in label else label for label in dataset.label_names))
    source, model = shlex.quote(str(file)), shlex.quote(f"{file.stem}.mchain")
    output.note(f"{len(dataset.Y)} rows: {file}. Next: montechain fit {source} --targets {names} -o {model}")
