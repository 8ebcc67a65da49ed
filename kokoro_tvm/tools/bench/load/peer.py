"""A peer's engine behind a plain server: `python -m kokoro_tvm.tools.bench.load.peer JSON`.

This is what people write around a model: requests compute one at a time, and audio is sent utterance by
utterance. Texts are read by a bundle's front end, so that only the engines differ.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from aiohttp import web

from kokoro_tvm.tools.bench.engine import BenchEngine, BenchUtterance, EngineSpec, open_engine
from kokoro_tvm.tools.bench.texts import VOICE
from kokoro_tvm.tools.bench.worker import pcm

_MAX_SYMBOLS = 510


def create_peer(engine: BenchEngine, read: Callable[[str], list[BenchUtterance]]) -> web.Application:
    """Create the application; `read` converts a text to utterances."""
    lock = asyncio.Lock()

    async def speech(request: web.Request) -> web.StreamResponse:
        """Answer with the audio of one text at a time."""
        body = await request.json()
        async with lock:
            response = web.StreamResponse(headers={"Content-Type": "audio/pcm"})
            await response.prepare(request)
            for utterance in await asyncio.to_thread(read, body["input"]):
                output = await asyncio.to_thread(engine.speak, [utterance])
                await response.write(pcm(output.audio[0]))
            await response.write_eof()
        return response

    async def health(request: web.Request) -> web.Response:
        return web.json_response({"status": "healthy"})

    app = web.Application()
    app.add_routes([web.post("/v1/audio/speech", speech), web.get("/health", health)])
    return app


def divide(phonemes: str) -> Iterator[str]:
    """Divide phonemes into parts of at most 510 symbols, at the ends of sentences or else at spaces."""
    part = ""
    for sentence in re.findall(r"[^.!?…]*[.!?…]*\s*", phonemes):
        for word in [sentence] if len(sentence) <= _MAX_SYMBOLS else re.findall(r"\S+\s*", sentence):
            if len(part) + len(word) > _MAX_SYMBOLS:
                yield part.strip()
                part = ""
            part += word[:_MAX_SYMBOLS]
    if part.strip():
        yield part.strip()


def main() -> None:
    """Serve the engine that the first argument describes, until the process is killed."""
    from kokoro_tvm.runtime import Synthesizer, Voices, read_bundle
    from kokoro_tvm.runtime.bundle.voices import style_of
    from kokoro_tvm.runtime.text.phonemes import encode

    request = json.loads(sys.argv[1])
    bundle = read_bundle(request["bundle"])
    voices = Voices.open(bundle)
    table, reader = voices.table(VOICE), Synthesizer.from_parts(bundle, _NoRunner(), voices)

    def read(text: str) -> list[BenchUtterance]:
        """Convert a text to utterances in one voice."""
        utterances = []
        for part in divide(" ".join(reader.phonemize(text, VOICE))):
            style = tuple(float(value) for value in style_of(table, part))
            utterances.append(BenchUtterance(tuple(encode(part, bundle.vocabulary)), style))
        return utterances

    app = create_peer(open_engine(EngineSpec(**request["engine"])), read)
    web.run_app(app, host="127.0.0.1", port=request["port"], print=None)


class _NoRunner:
    """Takes the place of a bundle's code, because only the front end is used."""

    def run(self, component: str, length: int, *inputs: Any) -> tuple[Any, ...]:
        raise NotImplementedError(component)


if __name__ == "__main__":
    main()
