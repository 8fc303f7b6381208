"""The commands, and the options that hold for all of them."""

from __future__ import annotations

from typing import Annotated

import typer

from montechain.cli import output
from montechain.cli.data import data
from montechain.cli.demo import demo
from montechain.cli.evaluate import evaluate
from montechain.cli.fit import fit
from montechain.cli.inspect import inspect
from montechain.cli.methods import methods
from montechain.cli.predict import predict

__all__ = ["app"]

app = typer.Typer(
    name="montechain",
    invoke_without_command=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 a fault of montechain, 2 misuse, 3 unusable data, 4 refused model, 5 output cannot "
    "be written, 130 interrupted.",
)


def _show_version(asked: bool) -> None:
    if asked:
        from montechain import __version__

        print(f"montechain {__version__}")
        raise typer.Exit


@app.callback()
def montechain(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_show_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="Only results and errors.")] = False,
    traceback: Annotated[bool, typer.Option("--traceback", metavar="", help="Show where an error arose.")] = False,
) -> None:
    """Predict several targets of one thing at once.

    **montechain demo** shows what it does on data that it brings along. With a table of your own:

    **montechain fit** bridges.csv --targets type,material,span -o bridges.mchain

    **montechain predict** bridges.mchain new.csv -o predicted.csv
    """
    output.settings.quiet = quiet
    output.settings.traceback = traceback
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command()(demo)
app.command()(fit)
app.command()(predict)
app.command()(evaluate)
app.command()(inspect)
app.command()(methods)
app.add_typer(data, name="data")
