"""What people and programs see: tables, notes, progress, JSON, and messages in the words of the command line.

Results go to standard output, everything else to standard error. Colours and bars appear only on a terminal.
"""

from __future__ import annotations

import ast
import json
import math
import re
import shlex
import sys
import threading
import traceback
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "clean", "encodes", "failure", "in_options", "is_usage_error", "note", "print_json", "print_line", "print_table",
    "progress", "settings", "warnings_as_notes",
]  # fmt: skip

DELAY = 2.0
"""Seconds before a progress bar appears."""
PIPE_WIDTH = 200
"""Width of a table that is not printed to a terminal."""
NAME_OPTIONS = {"-t", "--targets", "--drop", "--text", "--nominal", "--keep"}
"""Options that take several names."""
SAME = "decimal delimiter drop encoding estimator format header inference loss nominal order parents stray targets text"
OPTIONS = {name: f"--{name}" for name in [*SAME.split(), "thousands"]}
OPTIONS |= {"folds": "--cv", "n_chains": "--chains", "n_jobs": "--jobs", "n_splits": "--cv", "random_state": "--seed"}
"""Parameters of the library, and the options that set them."""

NAMES = "|".join(OPTIONS)
ASSIGNMENT = re.compile(rf"(?<![\w(.])({NAMES})=(\[[^\]]*\]|'[^']*'|\"[^\"]*\"|-?\d+|True|False)")
EXAMPLE_CALL = re.compile(rf"\b[A-Z]\w+\((({NAMES})=[^(),]+)\)")
PARAMETER = re.compile(rf"`({NAMES})`")
ASIDE = re.compile(r" \(on the command line: [^)]*\)")


@dataclass
class Settings:
    """Options that hold for the whole command."""

    as_json: bool = False
    quiet: bool = False
    traceback: bool = False


settings = Settings()


@cache
def console(*, stderr: bool = False) -> Console:
    """Return standard output, or standard error."""
    from rich.console import Console

    on_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, width=None if on_terminal else PIPE_WIDTH, highlight=False)


def print_line(text: str = "") -> None:
    """Print a line of the result; markup is printed as it is."""
    console().print(clean(text), markup=False, soft_wrap=True)


def clean(text: str) -> str:
    """Return a text without control characters, which could do something to a terminal.

    >>> clean("a" + chr(27) + "[31mb")
    'a[31mb'
    """
    return "".join(sign for sign in text if sign in "\n\t" or unicodedata.category(sign) != "Cc")


def print_json(value: Any) -> None:
    """Print a result for programs."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def note(text: str) -> None:
    """Print a remark to standard error, with options in place of Python."""
    if not settings.quiet:
        console(stderr=True).print(clean(in_options(text)), markup=False, soft_wrap=True, style="dim")


def failure(error: Exception, code: int) -> None:
    """Print an error to standard error, and for a bug of ours where it arose."""
    usage = is_usage_error(error)
    text = _usage_message(error) if usage else in_options(str(error) or type(error).__name__)
    if settings.as_json or (usage and "--json" in sys.argv):
        sys.stderr.write(json.dumps({"error": type(error).__name__, "message": text, "exit_code": code}) + "\n")
        return
    console(stderr=True).print("error:", style="bold red", end=" ")
    console(stderr=True).print(clean(text), markup=False, soft_wrap=True)
    if code == 1:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"({type(error).__name__} in {place.name}, line {place.lineno} of {place.filename.rsplit('/', 1)[-1]}.)"
        note(f"{where} This is a bug in montechain: please report it with the output of `montechain --traceback ...`.")


def is_usage_error(error: Exception) -> bool:
    """Return whether an error is about how the command was typed."""
    import typer

    return isinstance(error, typer.BadParameter.__bases__[0])


def _usage_message(error: Any) -> str:
    """Return what is wrong with the arguments, and where to look."""
    text, context = error.format_message().rstrip("."), error.ctx
    if "extra argument" in text and NAME_OPTIONS & set(sys.argv):
        text += ". Put commas, without spaces, between the names of several columns: --targets species,sex"
    return f"{text}{'' if text.endswith('?') else '.'} See {context.command_path if context else 'montechain'} --help."


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show each warning once, as a note without file and code."""
    shown: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            note(f"note: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.showwarning = show
        yield


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, left: Sequence[int] = (0,), caption: str = ""
) -> None:
    """Print a table; the columns numbered in `left` are left-aligned, the others right-aligned."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=clean(title), title_justify="left", title_style="bold", caption=caption or None, caption_justify="left",
        box=box.SIMPLE_HEAD if encodes("─") else box.ASCII2, show_header=any(columns),
    )  # fmt: skip
    for number, name in enumerate(columns):
        table.add_column(Text(clean(name)), justify="left" if number in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(clean(str(cell))) for cell in row))
    if sys.stdout.isatty():
        console().print(table)
        return
    with console().capture() as captured:
        console().print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


class Advance:
    """Moves a progress bar, or does nothing where there is none."""

    def __init__(self, bar: Any = None, task: Any = None):
        self.bar, self.task = bar, task

    def __call__(self, steps: int) -> None:
        """Count steps that are done."""
        if self.bar is not None:
            self.bar.advance(self.task, steps)

    def describe(self, what: str, seconds_left: float | None = None) -> None:
        """Say what is going on, and for how long at most."""
        if self.bar is not None:
            left = "" if seconds_left is None else f", at most {seconds_left:.0f} s left"
            self.bar.update(self.task, description=f"learning: {what}{left}")


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Advance]:
    """Show a bar once the work has taken two seconds; yields what to call with the number of steps done since.

    Without a total the bar only shows that something is going on, and for how long. A note says when kernels are
    compiled.
    """
    from montechain._compilation import watch_compilation

    with watch_compilation(_note_compilation):
        if settings.quiet or settings.as_json or not sys.stderr.isatty():
            yield Advance()
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = [TextColumn("{task.description}"), BarColumn(), *([] if total is None else [MofNCompleteColumn()])]
        bar = Progress(*columns, TimeElapsedColumn(), console=console(stderr=True), transient=True)
        task = bar.add_task(what, total=total)
        timer = threading.Timer(DELAY, bar.start)
        timer.daemon = True
        timer.start()
        try:
            yield Advance(bar, task)
        finally:
            timer.cancel()
            timer.join()
            bar.stop()


@cache
def _note_compilation() -> None:
    """Tell the user, once, why the first use takes longer."""
    from montechain._compilation import NOTICE

    if not settings.as_json:
        note(f"note: {NOTICE}")


def encodes(text: str) -> bool:
    """Return whether standard output can show a text."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: numpy's types as Python's, and NaN and infinity as null."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def in_options(message: str) -> str:
    """Return a message with parameters of Python written as options.

    >>> in_options("Leave it out with drop=['id'], or say header=False (on the command line: --no-header).")
    'Leave it out with --drop id, or say --no-header.'
    >>> in_options("`targets`: there is no column 'a b'. Try targets=-2, or targets=['a c', 'd'].")
    "`--targets`: there is no column 'a b'. Try --targets last:2, or --targets 'a c,d'."
    >>> in_options("`n_chains=0` must be positive, e.g. ChainPopulationClassifier(n_chains=10).")
    '`--chains 0` must be positive, e.g. --chains 10.'
    """
    message = EXAMPLE_CALL.sub(r"\1", ASIDE.sub("", message))
    message = ASSIGNMENT.sub(lambda match: _option(match[1], match[0], match[2]), message)
    return PARAMETER.sub(lambda match: f"`{OPTIONS[match[1]]}`", message)


def _option(name: str, written: str, literal: str) -> str:
    try:
        value: Any = ast.literal_eval(literal)
    except (SyntaxError, ValueError):  # such as drop=[...]
        return f"{OPTIONS[name]} {'A,B' if literal.startswith('[') else literal}"
    if name == "header":
        return "--header" if value else "--no-header"
    if name == "targets" and isinstance(value, int):
        return f"--targets {'last' if value < 0 else 'first'}:{abs(value)}"
    if isinstance(value, list):
        value = ",".join(f'"{one}"' if "," in str(one) else str(one) for one in value)
    return f"{OPTIONS[name]} {shlex.quote(str(value))}"
