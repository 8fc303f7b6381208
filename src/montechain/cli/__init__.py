"""The command line: translates arguments into calls that you could write in Python."""

from __future__ import annotations

import os
import sys

from montechain.cli import output
from montechain.errors import DataError, ModelFileError, OutputError

BUG, MISUSE, DATA, MODEL, OUTPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 5, 130, 141


def main() -> None:
    """Run the command in ``sys.argv`` and exit with its code."""
    code = _run()
    try:
        sys.stdout.flush()
    except OSError as error:
        code = BROKEN_PIPE
        if not isinstance(error, BrokenPipeError):
            code = OUTPUT
            output.failure(OutputError(f"standard output cannot be written: {error.strerror or error}."), code)
        # Python flushes once more on exit: give it somewhere to write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run() -> int:
    stdout = sys.stdout
    try:
        from montechain.cli.app import app

        _refuse_repeated_names()
        with output.warnings_as_notes():
            code = app(prog_name="montechain", standalone_mode=False) or 0
    except SystemExit as end:
        # typer replaces standard output when the reader of a pipe has gone, and exits.
        return BROKEN_PIPE if sys.stdout is not stdout else end.code if isinstance(end.code, int) else BUG
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if output.has_option("--traceback"):
            raise
        code = exit_code(error)
        if code == OUTPUT and not isinstance(error, OutputError):
            error = OutputError(f"the result cannot be written: {error}.")
        output.failure(error, code)
    if code == INTERRUPTED:
        output.note("interrupted.")
    return code


def _refuse_repeated_names() -> None:
    """Raise an error if an option that names columns is typed twice, since only the last one would count."""
    typed = [text.partition("=")[0] for text in sys.argv[1:]]
    for option in ("-t", "--targets", "--drop", "--text", "--nominal", "--numeric", "--tags", "--keep"):
        if typed.count(option) > 1:
            raise ValueError(f"`{option}` is given more than once. Join the names with commas: {option} a,b.")


def exit_code(error: Exception) -> int:
    """Return the exit code for an error."""
    for kind, code in ((DataError, DATA), (ModelFileError, MODEL), (OSError, OUTPUT)):
        if isinstance(error, kind):
            return code
    misuse = isinstance(error, ValueError | TypeError | ImportError) or output.is_usage_error(error)
    return MISUSE if misuse else BUG
