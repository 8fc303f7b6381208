"""Run the real command in a separate process: with pipes, or in a terminal.

``python command.py`` is a server that runs many commands but loads the libraries only once. It reads one JSON line per
request, with the arguments, the folder, the environment and three files, and answers with the exit code.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src"
PRELOADED = ["cli.app", "datasets", "estimators.table", "evaluation", "inspection", "methods", "persistence"]
STREAMS = {"stdin": os.O_RDONLY, "stdout": os.O_WRONLY, "stderr": os.O_WRONLY}


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def environment(**changes: str) -> dict[str, str]:
    values = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "150"}
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "GITHUB_ACTIONS", "MONTECHAIN_DATA"):
        values.pop(name, None)
    return values | changes


def run(command: str, *more: object, folder: Path, code: int | None = 0) -> Answer:
    """Run ``montechain`` in a folder; standard output and error are files.

    `more` are further arguments, passed unchanged. `code` is the expected exit code; None for any.

    Each run is a new process, forked from one that has already loaded the libraries; see also `run_from_nothing`.
    """
    arguments = [*shlex.split(command), *map(str, more)]
    with tempfile.TemporaryDirectory() as place:
        files = {name: str(Path(place) / name) for name in STREAMS}
        for name in files.values():
            Path(name).touch()
        request = {"arguments": arguments, "folder": str(folder), "environment": environment(), **files}
        server = _server()
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        found = int(server.stdout.readline())
        out, err = (Path(files[name]).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
    assert code in (None, found), (found, err)
    return Answer(found, out, err)


def run_from_nothing(*arguments: object, folder: Path, **changes: str) -> Answer:
    """Run ``montechain`` as a shell would, with pipes."""
    command = [sys.executable, "-m", "montechain", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment(**changes), capture_output=True, text=True, timeout=240)
    return Answer(done.returncode, done.stdout, done.stderr)


@cache
def _server() -> subprocess.Popen:
    command = [sys.executable, __file__]
    server = subprocess.Popen(command, env=environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(server.communicate)
    return server


def run_in_terminal(command: str, *, folder: Path, interrupt_at: str | None = None) -> tuple[int, str]:
    """Run the command in a new terminal, and return its exit code and everything it showed.

    `interrupt_at`: press Ctrl-C once a text that matches this pattern has appeared.
    """
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "montechain", *shlex.split(command)], cwd=folder, start_new_session=True,
        env=environment(TERM="xterm-256color"), stdin=terminal, stdout=terminal, stderr=terminal,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),  # ignored in the background
    )  # fmt: skip
    os.close(terminal)
    shown, deadline = b"", time.monotonic() + 240.0
    try:
        while process.poll() is None or select.select([controller], [], [], 0)[0]:
            assert time.monotonic() < deadline, f"{command} took too long; it showed {shown[-2000:]!r}"
            if select.select([controller], [], [], 0.1)[0]:
                try:
                    shown += os.read(controller, 65536)
                except OSError:  # the other end was closed
                    break
            if interrupt_at is not None and re.search(interrupt_at.encode(), shown):
                os.killpg(process.pid, signal.SIGINT)
                interrupt_at = None
        return process.wait(timeout=30), shown.decode("utf-8", errors="replace")
    finally:
        process.kill()
        process.wait()
        os.close(controller)


def _execute(request: dict) -> None:
    """Become the command; does not return."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, (name, flags) in enumerate(STREAMS.items()):
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
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    for name in PRELOADED:
        importlib.import_module(f"montechain.{name}")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _execute(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
