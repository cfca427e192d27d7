"""Timelines to read, and a browser to look at their pages with."""

import base64
import json
import os
import shutil
import subprocess

import pytest


@pytest.fixture
def write_timeline(tmp_path):
    """Writes events, or any other document, as a JSON file and returns its path."""

    def write(events, **others):
        document = {"traceEvents": events, **others} if isinstance(events, list) else events
        path = tmp_path / "run.json"
        path.write_text(json.dumps(document))
        return str(path)

    return write


def name_of(kind, pid, name, tid=None):
    """A metadata event."""
    return {"ph": "M", "name": f"{kind}_name", "pid": pid, "tid": tid, "args": {"name": name}}


def bar(name, begin, duration, tid=1, category="operator", pid=0):
    return {"ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid, "ts": begin, "dur": duration}


def arrow(key, tail, head):
    """From (tid, time) to (tid, time)."""
    return [
        {"ph": phase, "name": "push", "cat": "push", "id": key, "pid": 0, "tid": tid, "ts": time}
        for phase, (tid, time) in (("s", tail), ("f", head))
    ]


def counter(name, time, value, category="Device Storage", pid=0):
    return {
        "ph": "C",
        "name": name,
        "cat": category,
        "pid": pid,
        "tid": 1,
        "ts": time,
        "args": {"value": value},
    }


@pytest.fixture(scope="session")
def events():
    """Two threads: dot and add on the main one, dot on a worker, pushed by the main one while it ran add."""
    return [
        name_of("process", 0, "host threads"),
        name_of("thread", 0, "main", 1),
        name_of("thread", 0, "worker 1", 2),
        bar("dot", 0, 10),
        bar("add", 20, 20),
        bar("exp <b>", 25, 5),
        bar("wait", 40, 60, category="MXNET_C_API"),
        bar("dot", 30, 50, tid=2),
        *arrow(1, (1, 21), (2, 30)),
        counter("Memory: cpu/0", 0, 0),
        counter("Memory: cpu/0", 50, 2**20),
        counter("Pooled memory: cpu/0", 50, 2**10),
        {"ph": "i", "name": "epoch", "s": "p", "pid": 0, "tid": 1, "ts": 60},
    ]


class Browser:
    """Headless Chromium, driven over a pipe with the DevTools protocol."""

    def __init__(self, program):
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        flags = "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --remote-debugging-pipe"
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" {flags} 3<&{to_child} 4>&{from_child}', program],
            pass_fds=(to_child, from_child),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self._buffer = b""
        self._number = 0
        self._session = None
        self.problems = []  # uncaught errors of pages
        self.requests = []  # what pages asked for

    def _receive(self):
        while b"\0" not in self._buffer:
            part = os.read(self._in, 1 << 16)
            assert part, "the browser has ended"
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.problems.append(answer["params"]["exceptionDetails"])
            if answer.get("method") == "Network.requestWillBeSent":
                self.requests.append(answer["params"]["request"]["url"])
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, path, width=1400, height=1000, dark=False):
        """Shows a file in a new tab and waits until it is drawn."""
        self._session = None
        self.problems, self.requests = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Network.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.enable")
        self.call("Page.navigate", url=path.as_uri())
        self.evaluate("new Promise((done) => document.readyState === 'complete' ? done() : onload = done)")
        self.settle()

    def settle(self):
        """Waits until everything asked for is drawn."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, expression):
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, timeout=60_000
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **others):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **others)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)
        self.settle()

    def key(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait()


@pytest.fixture(scope="session")
def browser():
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program:
        pytest.skip("no Chromium: apt-get install chromium")
    browser = Browser(program)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def node():
    program = shutil.which("node")
    if not program:
        pytest.skip("no Node.js: apt-get install nodejs")
    return program
