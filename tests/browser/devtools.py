"""Drive a headless Chromium over its DevTools protocol, with the standard library alone."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

PATIENCE = 60.0  # seconds; a browser that starts on a busy machine needs some


def find_chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


class WebSocket:
    """As much of RFC 6455 as a local, well-behaved server asks for."""

    def __init__(self, url: str):
        host, _, path = url.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self._socket = socket.create_connection((name, int(port)), timeout=PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        request = (
            f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self._socket.sendall(request.encode())
        self._buffer = b""
        while b"\r\n\r\n" not in self._buffer:
            self._buffer += self._socket.recv(4096)
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        assert b" 101 " in head.splitlines()[0], head

    def send(self, text: str) -> None:
        payload, mask = text.encode(), os.urandom(4)
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x81, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x81, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x81, 0x80 | 127, size)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self._socket.sendall(head + mask + masked)

    def receive(self) -> str:
        parts = []
        while True:
            first, second = self._take(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack("!H", self._take(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", self._take(8))
            parts.append(self._take(size))
            if first & 0x80:
                return b"".join(parts).decode()

    def close(self) -> None:
        self._socket.close()

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            piece = self._socket.recv(1 << 16)
            if not piece:
                raise ConnectionError("the browser closed the connection")
            self._buffer += piece
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken


class Page:
    """One tab: commands go in, what it complains about is collected."""

    def __init__(self, url: str):
        self._socket = WebSocket(url)
        self._last = 0
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self._events: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **parameters: Any) -> Any:
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.receive())
            if message.get("id") == self._last:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, event: dict[str, Any]) -> None:
        name, about = event.get("method", ""), event.get("params", {})
        self._events.append(name)
        if name == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(about["exceptionDetails"])[:500])
        elif name == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(about["args"])[:500])
        elif name == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"])
        elif name == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif name == "Page.javascriptDialogOpening":
            self.dialogs.append(about["message"])

    def open(self, path: Path) -> None:
        self._events.clear()
        self.command("Page.navigate", url=path.as_uri())
        end = time.monotonic() + PATIENCE
        while self.run("document.readyState") != "complete" or "Page.loadEventFired" not in self._events:
            assert time.monotonic() < end, "the page did not load"
            time.sleep(0.02)

    def run(self, script: str) -> Any:
        """Return what an expression gives in the page."""
        found = self.command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str) -> None:
        codes = {"ArrowRight": 39, "ArrowLeft": 37, "ArrowUp": 38, "ArrowDown": 40, "Tab": 9, "Enter": 13}
        shared = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key], "nativeVirtualKeyCode": codes[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.command("Input.dispatchKeyEvent", type="keyDown", **shared, **text)
        self.command("Input.dispatchKeyEvent", type="keyUp", **shared)

    def prefer(self, scheme: str, media: str = "screen") -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.command("Emulation.setEmulatedMedia", media=media, features=[feature])

    def resize(self, width: int, height: int = 900) -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def screenshot(self, whole: bool = True) -> bytes:
        found = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        return base64.b64decode(found["data"])

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.command("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def close(self) -> None:
        self._socket.close()


class Browser:
    """A Chromium with a profile of its own, which ends with the `with` block."""

    def __init__(self, program: str):
        self._folder = tempfile.TemporaryDirectory(prefix="montechain-browser-", ignore_cleanup_errors=True)
        options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-port=0",
            f"--user-data-dir={self._folder.name}", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            [program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self._port = self._find_port()

    def _find_port(self) -> int:
        told = Path(self._folder.name) / "DevToolsActivePort"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            if told.is_file() and (lines := told.read_text().split()):
                return int(lines[0])
            time.sleep(0.05)
        self.__exit__()
        raise RuntimeError("Chromium did not start")

    def new_page(self) -> Page:
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return Page(json.load(answer)["webSocketDebuggerUrl"])

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, 15)  # its own group: the processes that it started, and no others
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, 9)
                self._process.wait()
        self._folder.cleanup()
