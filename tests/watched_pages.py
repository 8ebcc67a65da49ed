"""A page in a tab that is watched: what it shows, what it asks for, what it plays."""

from __future__ import annotations

import base64
import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np
from numpy.typing import NDArray

__all__ = ["CAPTURE", "TEXT", "Page", "places_of", "tasks_of"]

PATIENCE = 180  # seconds for what takes two where nothing else is computed
TEXT = 'He ran home. "Big bad dog," he told me, and had a good deal of fun. No man had land in hand.'

# Everything that a worklet plays goes through another, which keeps it. It is there before the first sound.
CAPTURE = """
registerProcessor("capture", class extends AudioWorkletProcessor {
  constructor() {
    super();
    this.kept = [];
    this.port.onmessage = () => this.port.postMessage(this.kept);
  }
  process([[input]]) {
    if (input) this.kept.push(input.slice());
    return true;
  }
});
"""
WATCH = """(() => {
  window.violations = [];
  addEventListener("securitypolicyviolation", event => violations.push(event.violatedDirective));
  window.lit = [];
  window.states = [];
  addEventListener("DOMContentLoaded", () => {
    const seen = ([...records]) => records.forEach(({ target: { classList, dataset } }) => {
      if (classList.contains("now") && lit.at(-1) !== dataset.place) lit.push(dataset.place);
    });
    const reading = document.getElementById("reading");
    const play = document.getElementById("play");
    const became = () => states.push(play.dataset.state);
    new MutationObserver(became).observe(play, { attributeFilter: ["data-state"] });
    new MutationObserver(seen).observe(reading, { attributeFilter: ["class"], subtree: true });
  });
})()"""
TAP = """(() => {
  window.taps = [];
  const { addModule } = AudioWorklet.prototype;
  AudioWorklet.prototype.addModule = async function (...args) {
    await Promise.all([addModule.call(this, "/capture.js"), addModule.apply(this, args)]);
  };
  const { connect } = AudioNode.prototype;
  AudioNode.prototype.connect = function (target, ...rest) {
    if (!(target instanceof AudioDestinationNode)) return connect.call(this, target, ...rest);
    const tap = new AudioWorkletNode(this.context, "capture", { outputChannelCount: [1] });
    taps.push(tap);
    connect.call(this, tap);
    connect.call(tap, target);
    return connect.call(this, target, ...rest);
  };
})()"""
KEPT = """place => new Promise(done => {
  const tap = taps[place];
  tap.port.onmessage = ({ data }) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(new Blob(data));
  };
  tap.port.postMessage("");
})"""


class Page:
    """A tab with the page of a server."""

    def __init__(self, tab: Any, url: str, *, is_heard: bool = True) -> None:
        """is_heard: keeps what is played; the page then asks its server for /capture.js."""
        self.tab = tab
        self.url = url
        self.requests: list[Any] = []
        self.errors: list[str] = []
        self._passed = 0  # states that were waited for, and those before them
        tab.on("request", lambda request: self.requests.append(request))
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.set_default_timeout(1000 * PATIENCE)
        tab.add_init_script(WATCH)
        if is_heard:
            tab.add_init_script(TAP)

    def open(self, fragment: str = "") -> Page:
        self.tab.goto(f"{self.url}/{fragment}")
        self.tab.wait_for_selector("#play:enabled")
        return self

    def state(self, state: str) -> None:
        """Waits until the player has come into this state since the last that was waited for."""
        limit = time.monotonic() + PATIENCE
        while state not in (found := self.tab.evaluate("states"))[self._passed :]:
            assert time.monotonic() < limit, f"not {state}: {found}"
            self.tab.wait_for_timeout(20)
        self._passed = found.index(state, self._passed) + 1

    def speak(self, text: str = TEXT) -> None:
        self.tab.fill("#text", text)
        self.tab.click("#play")

    def problem(self) -> str:
        """What the page says is wrong, once it does."""
        box = self.tab.wait_for_selector("#problem:not([hidden])")
        return re.sub(r"\s+", " ", box.inner_text()).strip()

    def heard(self, player: int = 0) -> NDArray[np.float32]:
        """What a player has played so far, silence included."""
        url = self.tab.evaluate(KEPT, player)
        return np.frombuffer(base64.b64decode(url.partition(",")[2]), np.float32)

    def lit(self) -> list[int]:
        """Places of the words that were lit, in the order in which they were."""
        return [int(place) for place in self.tab.evaluate("lit")]

    def spoken(self) -> list[dict[str, Any]]:
        """Bodies of the requests for speech."""
        return [request.post_data_json for request in self.requests if request.url.endswith("/speech")]

    def focused(self) -> str:
        return str(self.tab.evaluate("document.activeElement.id || document.activeElement.tagName"))

    def check(self) -> None:
        """Nothing failed in the page, nothing was kept from it, and it asked nobody else."""
        assert self.errors == []
        assert self.tab.evaluate("violations") == []
        assert {urlparse(request.url).netloc for request in self.requests} == {urlparse(self.url).netloc}


FADE = 96  # samples in which the page's player goes to silence
WINDOW = 64  # samples by which a sound is known again


def places_of(part: NDArray[np.float32], heard: NDArray[np.float32]) -> list[int]:
    """Where `part` begins in what was heard, sample for sample.

    Silence may lie within, after a fade: a pause, or a gap where the machine was too busy.
    """
    known = part[:WINDOW]
    starts = np.flatnonzero(heard[: max(0, len(heard) - len(part) + 1)] == part[0])
    starts = [start for start in starts if np.array_equal(heard[start : start + len(known)], known)]
    return [int(start) for start in starts if _follows(part, heard[start:])]


def _follows(part: NDArray[np.float32], heard: NDArray[np.float32]) -> bool:
    last = part[0]
    while len(part):
        count = min(len(part), len(heard))
        other = np.flatnonzero(part[:count] != heard[:count])
        same = int(other[0]) if len(other) else count
        last = part[same - 1] if same else last
        part, heard = part[same:], heard[same:]
        if len(part):
            again = _after_silence(last, part[:WINDOW], heard)
            if again is None:
                return False
            heard = heard[again:]
    return True


def _after_silence(last: float, known: NDArray[np.float32], heard: NDArray[np.float32]) -> int | None:
    """Where a sound goes on after its sample `last`: nothing but a fade to silence lies between."""
    if not len(heard) or abs(heard[0] - last * (1 - 1 / FADE)) > 1e-6:
        return None
    loud = np.abs(heard)
    rises = np.flatnonzero(loud[1:] > loud[:-1])
    silent = int(rises[0]) + 1 if len(rises) else len(heard)
    for place in np.flatnonzero(heard[: silent + 1] == known[0]):
        if np.array_equal(heard[place : place + len(known)], known):
            return int(place)
    return None


def tasks_of(trace: Path) -> list[float]:
    """Milliseconds of processor time of every task of the main thread that marked `here` in a trace."""
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    mark = next(event for event in events if event["name"] == "here")
    thread = mark["pid"], mark["tid"]
    tasks = [
        event for event in events if "RunTask" in event["name"] and (event["pid"], event["tid"]) == thread
    ]
    return [task.get("tdur", 0) / 1000 for task in tasks]
