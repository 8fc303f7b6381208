"""Runs the command again and again, each time in a process of its own, without loading the libraries again.

Reads one JSON line per request, with the arguments, the folder, the environment and three files; answers with the
exit code.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

PRELOADED = ["cli.app", "datasets", "estimators.table", "evaluation", "inspection", "methods", "persistence"]


def execute(request: dict) -> None:
    """Become the command; does not return."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, (name, flags) in enumerate([("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY), ("stderr", os.O_WRONLY)]):
        os.dup2(os.open(request[name], flags), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    sys.argv = ["montechain", *request["arguments"]]
    code = 1
    try:
        from montechain.cli import main

        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                code = 120
        os._exit(code)


if __name__ == "__main__":
    for name in PRELOADED:
        importlib.import_module(f"montechain.{name}")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            execute(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
