"""What a person, or a program, sees: tables, notes, progress, JSON.

Results go to standard output, everything else to standard error. Where these are no terminals there are neither
colours nor bars.
"""

from __future__ import annotations

import json
import math
import sys
import threading
import traceback
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from montechain.cli.wording import in_options

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "clean",
    "encodes",
    "failure",
    "is_usage_error",
    "note",
    "print_json",
    "print_line",
    "print_table",
    "progress",
    "settings",
    "warnings_as_notes",
]

DELAY = 2.0
"""Seconds after which a bar appears: what is done by then needs none."""
PIPE_WIDTH = 200
"""Columns of a table where there is no terminal that knows its own width."""


@dataclass
class Settings:
    """What holds for the whole command."""

    as_json: bool = False
    quiet: bool = False
    traceback: bool = False


settings = Settings()


@cache
def console() -> Console:
    """Return standard output."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, soft_wrap=False)


@cache
def error_console() -> Console:
    """Return standard error."""
    from rich.console import Console

    return Console(stderr=True, width=None if sys.stderr.isatty() else PIPE_WIDTH, highlight=False)


def print_line(text: str = "") -> None:
    """Print a line of the result; nothing in it is read as markup."""
    console().print(clean(text), markup=False, soft_wrap=True)


def clean(text: str) -> str:
    """Return a text without signs that would do something to a terminal, whoever wrote it.

    >>> clean("a" + chr(27) + "[31mb")
    'a[31mb'
    """
    return "".join(sign for sign in text if sign in "\n\t" or unicodedata.category(sign) != "Cc")


def print_json(value: Any) -> None:
    """Print a result for machines."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def note(text: str) -> None:
    """Print a remark to standard error, with options in place of Python."""
    if not settings.quiet:
        error_console().print(clean(in_options(text)), markup=False, soft_wrap=True, style="dim")


def failure(error: Exception, code: int) -> None:
    """Print an error to standard error, and for a bug of ours where it arose."""
    usage = is_usage_error(error)
    text = _usage_message(error) if usage else in_options(str(error) or type(error).__name__)
    if settings.as_json or (usage and "--json" in sys.argv):
        sys.stderr.write(json.dumps({"error": type(error).__name__, "message": text, "exit_code": code}) + "\n")
        return
    error_console().print("error:", style="bold red", end=" ")
    error_console().print(clean(text), markup=False, soft_wrap=True)
    if code == 1:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"({type(error).__name__} in {place.name}, line {place.lineno} of {place.filename.rsplit('/', 1)[-1]}.)"
        note(f"{where} This is a fault of montechain: please report it with what `montechain --traceback ...` prints.")


def is_usage_error(error: Exception) -> bool:
    """Return whether an error is about how the command was typed."""
    import typer

    return isinstance(error, typer.BadParameter.__bases__[0])


def _usage_message(error: Any) -> str:
    """Return what is wrong with the arguments, and where to look."""
    text, context = error.format_message().rstrip("."), error.ctx
    if "extra argument" in text and {"-t", "--targets", "--drop", "--text", "--nominal", "--keep"} & set(sys.argv):
        text += ". Put commas, without spaces, between the names of several columns: --targets species,sex"
    return f"{text}{'' if text.endswith('?') else '.'} See {context.command_path if context else 'montechain'} --help."


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show each warning once, as a line without file and code."""
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
    """Print a table; the columns whose numbers are in `left` are aligned there, the others right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    on_terminal = sys.stdout.isatty()
    table = Table(
        title=clean(title), title_justify="left", title_style="bold", caption=caption or None, caption_justify="left",
        box=box.SIMPLE_HEAD if on_terminal else box.ASCII2 if not encodes("─") else box.SIMPLE_HEAD,
    )  # fmt: skip
    for number, name in enumerate(columns):
        table.add_column(Text(clean(name)), justify="left" if number in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(clean(str(cell))) for cell in row))
    console().print(table)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar once the work has taken two seconds; yields what to call with the number of steps done since.

    Without a total it only shows that something is going on, and for how long. A note says when kernels are compiled.
    """
    from montechain._compilation import watch_compilation

    with watch_compilation(_note_compilation), _bar(what, total) as advance:
        yield advance


@cache
def _note_compilation() -> None:
    """Tell the user, once, why the first use takes longer."""
    from montechain._compilation import NOTICE

    if not settings.as_json:
        note(f"note: {NOTICE}")


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    if settings.quiet or settings.as_json or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [TextColumn("{task.description}"), BarColumn(), *([] if total is None else [MofNCompleteColumn()])]
    bar = Progress(*columns, TimeElapsedColumn(), console=error_console(), transient=True)
    task = bar.add_task(what, total=total)
    timer = threading.Timer(DELAY, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda steps: bar.advance(task, steps)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def encodes(sign: str) -> bool:
    """Return whether standard output can show these signs."""
    try:
        sign.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: numpy's types as Python's, and what is no finite number as null."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
