"""The page in a browser: what it shows, what it asks for, what it plays."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np
import pytest
from numpy.typing import NDArray
from serving import GatedRunner, Server, serving
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kokoro_tvm.serve.routes import page
from kokoro_tvm.serve.routes.page import routes

TEXT = 'He ran home. "Big bad dog," he told me, and had a good deal of fun. No man had land in hand.'
SLOWER = 12  # times slower than the other toys

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


class SlowSpeaker(GatedRunner):
    """Speaks so slowly that a word can be seen."""

    def duration(self, d_en: np.ndarray, style: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        frames, features = super().duration(d_en, style)
        return SLOWER * frames, features


@contextmanager
def serving_slowly(folder: Path, **settings: Any) -> Iterator[Server]:
    """A server whose words can be seen while they are heard, and which has the module that keeps the sound:
    what worklets load goes past the browser's ways to put something in its place."""

    async def capture(request: Request) -> Response:
        return Response(CAPTURE, media_type="text/javascript")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("serving.GatedRunner", SlowSpeaker)
        patch.setattr(page, "routes", lambda: [*routes(), Route("/capture.js", capture)])
        with serving(folder, **settings) as server:
            yield server


class Page:
    """A tab with the page of a server."""

    def __init__(self, tab: Any, url: str) -> None:
        self.tab = tab
        self.url = url
        self.requests: list[Any] = []
        self.errors: list[str] = []
        self._passed = 0  # states that were waited for, and those before them
        tab.on("request", lambda request: self.requests.append(request))
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.set_default_timeout(60_000)
        tab.add_init_script(WATCH)

    def open(self, fragment: str = "") -> Page:
        self.tab.goto(f"{self.url}/{fragment}")
        self.tab.wait_for_selector("#play:enabled")
        return self

    def state(self, state: str) -> None:
        """Waits until the player has come into this state since the last that was waited for."""
        limit = time.monotonic() + 60
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


@contextmanager
def page_of(browser: Any, server: Server, **context: Any) -> Iterator[Page]:
    """The page of a server in a window of its own, opened, and checked at the end."""
    made = browser.new_context(**context)
    try:
        page = Page(made.new_page(), server.url)
        yield page
        page.check()
    finally:
        made.close()


def spoken_by(server: Server, text: str, **fields: Any) -> NDArray[np.float32]:
    """The samples that the server sends for a text."""
    answer = server.speak(text, **fields)
    assert answer.status == 200, answer.body
    return np.frombuffer(answer.body, "<i2").astype(np.float32) / 32768


def places_of(part: NDArray[np.float32], whole: NDArray[np.float32]) -> list[int]:
    """Where `part` begins in `whole`, sample for sample."""
    starts = np.flatnonzero(whole[: max(0, len(whole) - len(part) + 1)] == part[0])
    return [int(start) for start in starts if np.array_equal(whole[start : start + len(part)], part)]
