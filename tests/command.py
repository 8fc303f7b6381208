"""Run the real command in a separate process: with pipes, or in a terminal.

``python command.py`` is a server that runs many commands but loads the libraries only once. It reads one JSON line per
request, with the arguments or a program, the folder, the environment and the files to read and write, and answers with
the process id and, when the process has ended, its exit code.
"""

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
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

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


def run(
    command: str, *more: object, folder: Path, code: int | None = 0, program: str = "", stdout: Path | str = ""
) -> Answer:
    """Run ``montechain`` in a folder; standard output, unless it is given, and error are files.

    `more` are further arguments, passed unchanged. `code` is the expected exit code; None for any. `program` runs
    instead of the command, whose arguments it finds in `sys.argv`, and ends as Python ends.
    """
    arguments = [*shlex.split(command), *map(str, more)]
    with tempfile.TemporaryDirectory() as place:
        files = {name: str(Path(place) / name) for name in STREAMS}
        for name in files.values():
            Path(name).touch()
        given = {"stdout": str(stdout)} if stdout else {}
        found = Started(folder, files | given, arguments=arguments, program=program).wait()
        out, err = (Path(files[name]).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
    assert code in (None, found), (found, err)
    return Answer(found, out, err)


def run_from_nothing(*arguments: object, folder: Path, **changes: str) -> Answer:
    """Run ``montechain`` as a shell would, with pipes."""
    command = [sys.executable, "-m", "montechain", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment(**changes), capture_output=True, text=True, timeout=240)
    return Answer(done.returncode, done.stdout, done.stderr)


def run_program(code: str, *arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program in a new process; it must succeed."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=environment(**changes), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


class Started:
    """A process that runs a command or a program, forked from one that has already loaded the libraries.

    What a program prints is lost, unless `files` says where to write it.
    """

    def __init__(self, folder: Path, files: dict[str, str] | None = None, **request: Any):
        values = environment(TERM="xterm-256color") if request.get("terminal") else environment()
        request |= {"folder": str(folder), "environment": values, "path": sys.path}
        request["files"] = {"stdin": os.devnull, "stdout": os.devnull} | (files or {})
        self.server, self.code = _server(), None
        self.server.stdin.write(json.dumps(request).encode() + b"\n")
        self.pid = int(self.server.stdout.readline())

    def wait(self) -> int:
        if self.code is None:
            self.code = int(self.server.stdout.readline())
        return self.code

    def poll(self) -> int | None:
        if self.code is None and select.select([self.server.stdout], [], [], 0)[0]:
            self.wait()
        return self.code

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so, while the process runs."""
        deadline = time.monotonic() + 180.0
        while not condition():
            assert self.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


@cache
def _server() -> subprocess.Popen:
    command = [sys.executable, __file__]
    server = subprocess.Popen(command, env=environment(), bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(server.communicate)
    return server


def run_in_terminal(command: str, *, folder: Path, interrupt_at: str | None = None) -> tuple[int, str]:
    """Run the command in a new terminal, and return its exit code and everything it showed.

    `interrupt_at`: press Ctrl-C once a text that matches this pattern has appeared.
    """
    controller, terminal = pty.openpty()
    files = dict.fromkeys(STREAMS, os.ttyname(terminal))
    process = Started(folder, files, arguments=shlex.split(command), terminal=True)
    shown, deadline = b"", time.monotonic() + 240.0
    try:
        while process.poll() is None or select.select([controller], [], [], 0)[0]:
            assert time.monotonic() < deadline, f"{command} took too long; it showed {shown[-2000:]!r}"
            if select.select([controller], [], [], 0.02)[0]:
                shown += os.read(controller, 65536)
            if interrupt_at is not None and re.search(interrupt_at.encode(), shown):
                os.write(controller, b"\x03")
                interrupt_at = None
        return process.wait(), shown.decode("utf-8", errors="replace")
    finally:
        process.kill()
        os.close(controller)
        os.close(terminal)


def _execute(request: dict) -> None:
    """Become the command or the program; does not return."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    if request.get("terminal"):
        os.setsid()  # the terminal that it opens next is the one that controls it
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    for number, (name, flags) in enumerate(STREAMS.items()):
        if name in request["files"]:
            os.dup2(os.open(request["files"][name], flags), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    sys.argv = ["montechain", *request.get("arguments", [])]
    if request.get("program"):
        sys.path[:] = request["path"]
        exec(request["program"], {"__name__": "__main__"})
        sys.exit()
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
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
