"""The real command, in a process of its own: with pipes, or in a terminal."""

from __future__ import annotations

import atexit
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src"


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def environment(**changes: str) -> dict[str, str]:
    values = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "150", **changes}
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "GITHUB_ACTIONS", "MONTECHAIN_DATA"):
        if name not in changes:
            values.pop(name, None)
    return values


def run(*arguments: object, folder: Path, **changes: str) -> Answer:
    """Run ``montechain`` with these arguments in a folder; standard output and error are no terminals.

    Each run is a process of its own, forked from one that has loaded the libraries: see `run_from_nothing`.
    """
    with tempfile.TemporaryDirectory() as place:
        files = {name: str(Path(place) / name) for name in ("stdin", "stdout", "stderr")}
        for name in files.values():
            Path(name).touch()
        request = {"arguments": [*map(str, arguments)], "folder": str(folder), "environment": environment(**changes)}
        server = _server()
        server.stdin.write(json.dumps({**request, **files}) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        out, err = (Path(files[name]).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        return Answer(code, out, err)


def run_from_nothing(*arguments: object, folder: Path, **changes: str) -> Answer:
    """Run ``montechain`` as a shell would, with pipes."""
    command = [sys.executable, "-m", "montechain", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment(**changes), capture_output=True, text=True, timeout=240)
    return Answer(done.returncode, done.stdout, done.stderr)


@cache
def _server() -> subprocess.Popen:
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("command_server.py"))], env=environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    atexit.register(server.communicate)
    return server


def run_in_terminal(
    arguments: Sequence[object],
    *,
    folder: Path,
    interrupt_at: str | None = None,
    timeout: float = 240.0,
    **changes: str,
) -> tuple[int, str]:
    """Run the command in a terminal of its own and return its exit code and all that appeared there.

    `interrupt_at`: press Ctrl-C when a text that matches this pattern has appeared.
    """
    command = [sys.executable, "-m", "montechain", *map(str, arguments)]
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        command, cwd=folder, env=environment(TERM="xterm-256color", **changes), stdin=terminal, stdout=terminal,
        stderr=terminal, start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    shown, deadline, interrupted = b"", time.monotonic() + timeout, False
    try:
        while time.monotonic() < deadline:
            ready, _, _ = select.select([controller], [], [], 0.1)
            if ready:
                try:
                    part = os.read(controller, 65536)
                except OSError:  # the other end was closed
                    break
                if not part:
                    break
                shown += part
            elif process.poll() is not None:
                break
            if interrupt_at is not None and not interrupted and re.search(interrupt_at.encode(), shown):
                os.killpg(process.pid, signal.SIGINT)
                interrupted = True
        else:
            process.kill()
            raise TimeoutError(f"{arguments} took more than {timeout} s; it showed {shown[-2000:]!r}")
        return process.wait(timeout=30), shown.decode("utf-8", errors="replace")
    finally:
        process.kill()
        process.wait()
        os.close(controller)
