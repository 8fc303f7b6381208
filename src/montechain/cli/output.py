"""Output for people and programs: tables, notes, progress, JSON, and messages that name options.

Results go to standard output, everything else to standard error. Colours and bars appear only on a terminal.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 200
"""Width of a table that is not printed to a terminal."""
SAME = "decimal delimiter drop encoding estimator format header loss nominal numeric separator tags targets text"
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in [*SAME.split(), "missing_values", "time_limit"]}
OPTIONS |= {"folds": "--cv", "n_jobs": "--jobs", "n_splits": "--cv", "random_state": "--seed"}
"""Parameters of the library, and the options that set them."""
NAMES = "|".join(OPTIONS)
ASSIGNMENT = re.compile(rf"(?<![\w(.])({NAMES})=(\[[^\]]*\]|'[^']*'|\"[^\"]*\"|-?\d+|True|False)")
EXAMPLE_CALL = re.compile(rf"\b[A-Z]\w+\((({NAMES})=[^(),]+)\)")
PARAMETER = re.compile(rf"`({NAMES})`")


def has_option(*options: str) -> bool:
    """Return whether one of these options was typed."""
    return any(option in sys.argv for option in options)


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
    """Return a text without control characters, which could confuse a terminal.

    >>> clean("a" + chr(27) + "[31mb")
    'a[31mb'
    """
    return "".join(sign for sign in text if sign in "\n\t" or unicodedata.category(sign) != "Cc")


def print_json(value: Any) -> None:
    """Print a result as JSON; NaN and infinity become null, other values that JSON cannot hold become strings."""
    text = json.dumps(value, default=lambda one: one.tolist() if hasattr(one, "tolist") else str(one))
    plain = json.loads(text, parse_constant=lambda constant: None)
    sys.stdout.write(json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


def note(text: str) -> None:
    """Print a remark to standard error, with options in place of Python."""
    if not has_option("--quiet", "-q"):
        console(stderr=True).print(clean(in_options(text)), markup=False, soft_wrap=True, style="dim")


def notes(remarks: Sequence[str]) -> None:
    """Print what was found in a table or a model, line by line."""
    for remark in remarks:
        note(f"note: {remark}")


def failure(error: Exception, code: int) -> None:
    """Print an error to standard error."""
    text = _usage_message(error) if is_usage_error(error) else in_options(str(error) or type(error).__name__)
    if has_option("--json"):
        sys.stderr.write(json.dumps({"error": type(error).__name__, "message": text, "exit_code": code}) + "\n")
        return
    console(stderr=True).print("error:", style="bold red", end=" ")
    console(stderr=True).print(clean(text), markup=False, soft_wrap=True)
    if code == 1:
        note(f"{type(error).__name__}: a bug. Please report it with the output of `montechain --traceback ...`.")


def is_usage_error(error: Exception) -> bool:
    """Return whether an error is about how the command was typed."""
    import typer

    return isinstance(error, typer.BadParameter.__bases__[0])


def _usage_message(error: Any) -> str:
    """Return what is wrong with the arguments, and where to look."""
    text, context = error.format_message().rstrip("."), error.ctx
    if "extra argument" in text and has_option("--targets", "-t"):
        text += ". Put commas, without spaces, between the names of several columns: --targets species,sex"
    return f"{text}{'' if text.endswith('?') else '.'} See {context.command_path if context else 'montechain'} --help."


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show each warning once, as a note without file and code."""
    show = cache(lambda text: note(f"note: {text}"))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.showwarning = lambda message, *_, **__: show(str(message))
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
        box=box.SIMPLE_HEAD, show_header=any(columns),
    )  # fmt: skip
    for number, name in enumerate(columns):
        table.add_column(Text(clean(name)), justify="left" if number in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(clean(str(cell))) for cell in row))
    console().print(table)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a bar while something is done; yields a function ``advance(n_steps, what)`` that moves it.

    Without a total, the bar only shows activity and elapsed time.
    """
    if has_option("--quiet", "-q", "--json") or not sys.stderr.isatty():
        yield lambda n_steps=0, what=what: None
        return
    from rich import progress as shown

    known = [shown.MofNCompleteColumn(), shown.TimeRemainingColumn(), shown.TextColumn("left, elapsed")]
    columns = [shown.TextColumn("{task.description}"), shown.BarColumn(), *([] if total is None else known)]
    with shown.Progress(*columns, shown.TimeElapsedColumn(), console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda n_steps=0, what=what: bar.update(task, advance=n_steps, description=what)


def in_options(message: str) -> str:
    """Return a message with parameters of Python written as options.

    >>> in_options("Leave it out with drop=['id'], or use header=False.")
    'Leave it out with --drop id, or use --no-header.'
    >>> in_options("`targets`: column 'a b' not found. Try targets=-2, or targets=['a c', 'd'].")
    "`--targets`: column 'a b' not found. Try --targets last:2, or --targets 'a c,d'."
    >>> in_options("`n_splits=0` must be positive, e.g. KFold(n_splits=10).")
    '`--cv 0` must be positive, e.g. --cv 10.'
    """
    message = message.replace("convert it with pandas.to_datetime(..., dayfirst=True)", "write dates as 2024-12-31")
    message = EXAMPLE_CALL.sub(r"\1", message.replace(", or None.", "."))  # which cannot be typed
    message = ASSIGNMENT.sub(lambda match: _option(match[1], match[2]), message)
    return PARAMETER.sub(lambda match: f"`{OPTIONS[match[1]]}`", message)


def _option(name: str, literal: str) -> str:
    try:
        value: Any = ast.literal_eval(literal)
    except (SyntaxError, ValueError):  # such as drop=[...]
        return f"{OPTIONS[name]} A,B"
    if name == "header":
        return "--header" if value else "--no-header"
    if name == "targets" and isinstance(value, int):
        return f"--targets {'last' if value < 0 else 'first'}:{abs(value)}"
    if isinstance(value, list):
        value = ",".join(f'"{one}"' if "," in str(one) else str(one) for one in value)
    return f"{OPTIONS[name]} {shlex.quote(str(value))}"
