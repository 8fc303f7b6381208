"""The command line: translates arguments into calls that you could write in Python.

Exit codes: 0 success; 1 a bug in montechain; 2 wrong arguments; 3 unusable data; 4 unusable model file;
5 output cannot be written; 130 interrupted; 141 broken pipe.
"""

from __future__ import annotations

import os
import sys

from montechain.cli import output
from montechain.errors import DataError, ModelFileError, OutputError

__all__ = ["main"]

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


def exit_code(error: Exception) -> int:
    """Return the exit code for an error.

    >>> exit_code(DataError("no rows.", path="songs.csv")), exit_code(ValueError("`k=0` must be positive."))
    (3, 2)
    """
    for kind, code in ((DataError, DATA), (ModelFileError, MODEL), (OSError, OUTPUT)):
        if isinstance(error, kind):
            return code
    misuse = isinstance(error, ValueError | TypeError | ImportError) or output.is_usage_error(error)
    return MISUSE if misuse else BUG
