"""The commands, and the options that hold for all of them."""

from __future__ import annotations

from typing import Annotated

import typer

import montechain as mc
from montechain.cli import output
from montechain.cli.data import data, methods, warmup
from montechain.cli.demo import demo
from montechain.cli.evaluate import evaluate
from montechain.cli.fit import fit
from montechain.cli.inspect import inspect
from montechain.cli.options import flag
from montechain.cli.predict import predict

__all__ = ["app"]

app = typer.Typer(
    name="montechain",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success, 1 a bug in montechain, 2 wrong arguments, 3 unusable data, 4 unusable model, 5 "
    "output cannot be written, 130 interrupted.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"montechain {mc.__version__}")
        raise typer.Exit


@app.callback()
def montechain(
    context: typer.Context,
    version: Annotated[
        bool, flag("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Annotated[bool, flag("--quiet", "-q", help="Print only results and errors.")] = False,
    traceback: Annotated[bool, flag("--traceback", help="Show the traceback of an error.")] = False,
) -> None:
    """Predict several columns of a table at once.

    `montechain demo` shows what it does on bundled data. With a table of your own:

    \b
      montechain fit bridges.csv --targets type,material,span -o bridges.mchain
      montechain predict bridges.mchain new.csv -o predicted.csv
    """  # noqa: D301
    output.settings.quiet = quiet
    output.settings.traceback = traceback
    if context.invoked_subcommand is None:
        print(context.get_help())


for command in (demo, fit, predict, evaluate, inspect, methods, warmup):
    app.command()(command)
app.add_typer(data, name="data")
