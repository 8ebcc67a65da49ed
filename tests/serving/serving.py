"""A server on a free port with a toy bundle, and a plain client."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from toy_bundle import FakeRunner, write_bundle

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime import Synthesizer, Voices, read_bundle
from kokoro_tvm.serving.app import create_app
from kokoro_tvm.serving.bundles import Bundles, make_yielding
from kokoro_tvm.serving.encoding.base import as_int16
from kokoro_tvm.serving.server import uvicorn_options
from kokoro_tvm.serving.service import Service
from kokoro_tvm.serving.settings import Settings
from kokoro_tvm.serving.wyoming import WyomingServer

ROOMY = {"tokens": [512], "frames": [5120]}
LONG = "He ran home, and then he ran back on a hand. A big bad dog did it. No.\n\nGo on and on, dim cab."


class GatedRunner(FakeRunner):
    """A FakeRunner with gates before the decoder and before planning, and planned failures."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.planning = threading.Event()  # a gate too, of what plans
        self.planning.set()
        self.waiting = threading.Semaphore(0)
        self._decoded = 0
        self._closing: int | None = None
        self._failing: int | None = None

    def close_after(self, pieces: int) -> None:
        """Close the gate when so many more pieces are decoded."""
        self._closing = self._decoded + pieces

    def fail_after(self, pieces: int) -> None:
        """Fail from then on."""
        self._failing = self._decoded + pieces

    def bert(self, tokens: np.ndarray) -> tuple[np.ndarray]:
        if not self.planning.is_set():
            self.waiting.release()
            assert self.planning.wait(30)
        return super().bert(tokens)

    def decoder_seeded(self, *inputs: np.ndarray) -> Any:
        if self._failing is not None and self._decoded >= self._failing:
            raise BundleError("/secret/place of the bundle failed")
        if self._decoded == self._closing:
            self.gate.clear()
        if not self.gate.is_set():
            self.waiting.release()
            assert self.gate.wait(30)
        self._decoded += 1
        return super().decoder_seeded(*inputs)


@dataclass(frozen=True)
class Answer:
    """What a server answers; headers by their names in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Any:
        return self.json["error"]


@dataclass(frozen=True)
class Server:
    """A server that runs in a thread."""

    port: int
    service: Service
    synthesizer: Synthesizer
    runner: GatedRunner
    loop: asyncio.AbstractEventLoop
    wyoming: WyomingServer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """body: bytes, or a value that is sent as JSON."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, data, dict(headers or {}))
            answer = connection.getresponse()
            result = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, result, answer.read())

    def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
        return self.request("POST", path, body, headers)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return self.request("GET", path, headers=headers)

    def schema(self, path: str) -> Any:
        """The JSON schema of the body of `POST path` in the OpenAPI document."""
        document = self.get("/openapi.json").json
        body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        return document["components"]["schemas"][body["$ref"].rpartition("/")[2]]

    def speak(self, text: str, **fields: Any) -> Answer:
        return self.post("/v1/audio/speech", {"input": text, "response_format": "pcm"} | fields)

    def expected(self, text: str, *arguments: Any, **options: Any) -> bytes:
        """PCM of the synthesizer itself."""
        chunks = self.synthesizer.stream(text, *arguments, **options)
        return as_int16(np.concatenate([chunk.audio for chunk in chunks]))


def toy_synthesizer(folder: Path, runner: FakeRunner) -> Synthesizer:
    """Create a synthesizer around numpy functions."""
    bundle = read_bundle(write_bundle(folder, buckets=ROOMY))
    return Synthesizer.from_parts(bundle, runner, Voices.open(bundle))


@contextlib.contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[Server]:
    """A server of a toy bundle, with settings of the test's own."""
    runner = GatedRunner()
    synthesizer = toy_synthesizer(folder, runner)
    chosen = Settings(port=0, **settings)
    app = create_app(chosen, Bundles({"toy": make_yielding(synthesizer)}))
    server = uvicorn.Server(uvicorn.Config(app, **uvicorn_options(chosen)))
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        await server.serve()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        wait_for(lambda: server.started or not thread.is_alive())
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Server(port, app.state.service, synthesizer, runner, loops[0], app.state.wyoming)
    finally:
        runner.gate.set()
        runner.planning.set()
        server.should_exit = True
        thread.join(30)


def wait_for(condition: Callable[[], object]) -> None:
    """Wait for a condition; the limit only ends a test that fails."""
    limit = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.002)


def ends_without_another_call(server: Server) -> None:
    """Check that the one job, whose client left during a component, computes no more."""
    (job,) = server.service.scheduler.jobs
    wait_for(lambda: job.cancelled)
    count = len(server.runner.calls)
    server.runner.gate.set()
    job.join()
    assert len(server.runner.calls) == count
