"""A headless Chromium driven through its DevTools pipe: open a page, press keys, ask what it shows.

No package needed: commands are JSON texts that end in a zero byte, on file descriptors 3 and 4.
"""

import base64
import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=IsolateSandboxedIframes",  # a frame in a process of its own would be a page of its own here
    "--remote-debugging-pipe",
)
KEYS = {"ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39, "PageUp": 33, "PageDown": 34, "Enter": 13,
        "Escape": 27, "Tab": 9, "Home": 36, "End": 35}  # fmt: skip


def find_browser() -> str:
    """The browser's path. Without one, the test is skipped on a developer's machine and fails in CI."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    if os.environ.get("CI"):
        pytest.fail(f"no browser: install one of {', '.join(NAMES)}")
    pytest.skip(f"no browser: install one of {', '.join(NAMES)}")


class Browser:
    """One page in a browser of its own. `events` collects what the page reported."""

    def __init__(self, width: int = 1400, height: int = 1000, dark: bool = False) -> None:
        self.path, self.size, self.dark = find_browser(), (width, height), dark
        self.events: list[dict[str, Any]] = []
        self.number = 0

    def __enter__(self) -> "Browser":
        self.folder = TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.writing = os.pipe()
        self.reading, from_browser = os.pipe()
        # The shell puts the pipes where the browser looks for them, then becomes the browser.
        script = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        size = f"--window-size={self.size[0]},{self.size[1]}"
        command = ["bash", "-c", script, self.path, *FLAGS, size, f"--user-data-dir={self.folder.name}", "about:blank"]
        self.process = subprocess.Popen(
            command, pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        screen = {"width": self.size[0], "height": self.size[1], "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **screen)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.process.terminate()
        self.process.wait(10)
        os.close(self.reading)
        os.close(self.writing)
        self.folder.cleanup()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session := getattr(self, "session", None):
            message["sessionId"] = session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self.number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file and wait until it is loaded."""
        self._load("about:blank")  # else a change of the fragment alone would load nothing
        self.events.clear()
        self._load(path.as_uri() + fragment)

    def ask(self, expression: str, *, wait: bool = False) -> Any:
        """The value of a JavaScript expression; with `wait` what its promise comes to."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=wait)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """The text of an element."""
        return self.ask(f"document.querySelector({json.dumps(selector)}).textContent")

    def frame_text(self) -> str:
        """The text of the document in the page's only frame."""
        (frame,) = self.call("Page.getFrameTree")["frameTree"]["childFrames"]
        world = self.call("Page.createIsolatedWorld", frameId=frame["frame"]["id"])["executionContextId"]
        asked = self.call("Runtime.evaluate", expression="document.body.innerText", contextId=world)
        return asked["result"]["value"]

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=KEYS.get(key, ord(key[0])))

    def point(self, x: float, y: float) -> None:
        """Move the mouse there."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Press the mouse on the middle of an element."""
        x, y = self._middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def hover(self, selector: str) -> None:
        """Move the mouse to the middle of an element."""
        self.point(*self._middle(selector))

    def tap(self, selector: str) -> None:
        """Touch the middle of an element with a finger."""
        x, y = self._middle(selector)
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def picture(self) -> bytes:
        """What is on the screen, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def complaints(self) -> list[str]:
        """Errors the page reported: exceptions, blocked content, messages."""
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in kinds]

    def requests(self) -> list[str]:
        """Addresses the page asked for."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def _middle(self, selector: str) -> list[float]:
        found = f"document.querySelector({json.dumps(selector)})"
        self.ask(f"{found}.scrollIntoView({{block: 'nearest'}})")
        return self.ask(
            f"(() => {{ const b = {found}.getClientRects()[0]; return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        )

    def _load(self, url: str) -> None:
        before = len(self.events)
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events[before:]):
            self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        """The next message; a browser that says nothing for a minute has failed."""
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.reading], [], [], 60)
            data = os.read(self.reading, 65536) if ready else b""
            assert data, "the browser is gone"
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)
