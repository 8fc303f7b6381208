"""The command line: translates arguments into calls that anyone could write in Python.

Exit codes: 0 done; 1 a fault of montechain's own; 2 the command was misused; 3 a data file cannot be used;
4 a model file was refused; 5 a result cannot be written; 130 interrupted; 141 the reader of a pipe went away.
"""

from __future__ import annotations

import os
import sys

from montechain.cli import output
from montechain.errors import DataError, ModelFileError, OutputError

__all__ = ["main"]

MISUSE, DATA, MODEL, OUTPUT, INTERRUPTED, BROKEN_PIPE = 2, 3, 4, 5, 130, 141


def main() -> None:
    """Run the command that stands in ``sys.argv`` and end the process with its exit code."""
    stdout = sys.stdout
    try:
        from montechain.cli.app import app

        with output.warnings_as_notes():
            app(prog_name="montechain")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if code == INTERRUPTED:
            output.note("interrupted.")
        elif sys.stdout is not stdout:  # typer puts another one in its place when a pipe has no reader any more
            code = BROKEN_PIPE
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        # Python flushes standard output once more when it ends; give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = BROKEN_PIPE
    except Exception as error:
        if output.settings.traceback:
            raise
        code = exit_code(error)
        if code == OUTPUT and not isinstance(error, OutputError):
            error = OutputError(f"the result cannot be written: {error}.")
        output.failure(error, code)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = BROKEN_PIPE
    except OSError as error:
        code = OUTPUT
        output.failure(OutputError(f"standard output cannot be written: {error.strerror or error}."), code)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def exit_code(error: Exception) -> int:
    """Return what a failure means.

    >>> exit_code(DataError("no rows.", path="songs.csv")), exit_code(ValueError("`k=0` must be positive."))
    (3, 2)
    """
    kinds: dict[type[Exception], int] = {DataError: DATA, ModelFileError: MODEL, OSError: OUTPUT}
    for kind, code in kinds.items():
        if isinstance(error, kind):
            return code
    return MISUSE if isinstance(error, ValueError | TypeError | ImportError) else 1
