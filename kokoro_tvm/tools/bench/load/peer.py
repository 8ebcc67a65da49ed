"""A peer behind a plain server with the same interface: `python -m kokoro_tvm.tools.bench.load.peer
REQUEST.json`.

It is what people write around a model: one request computes at a time, the others wait in their order, and
audio is sent utterance by utterance. Its text front end is that of a bundle: the engines alone differ.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from kokoro_tvm.tools.bench.engine import BenchEngine, BenchUtterance, EngineSpec, open_engine
from kokoro_tvm.tools.bench.once import pcm
from kokoro_tvm.tools.bench.texts import VOICE

__all__ = ["create_peer", "main", "utterances"]

_MOST = 510  # symbols that a model takes


def create_peer(engine: BenchEngine, read: Callable[[str], list[BenchUtterance]]) -> web.Application:
    """The application; read: the utterances of a text."""
    turn = asyncio.Lock()

    async def speech(request: web.Request) -> web.StreamResponse:
        wanted = await request.json()
        async with turn:
            answer = web.StreamResponse(headers={"Content-Type": "audio/pcm"})
            await answer.prepare(request)
            for utterance in await asyncio.to_thread(read, wanted["input"]):
                spoken = await asyncio.to_thread(engine.speak, [utterance])
                await answer.write(pcm(spoken.audio[0]))
            await answer.write_eof()
        return answer

    async def health(request: web.Request) -> web.Response:
        return web.json_response({"status": "healthy"})

    app = web.Application()
    app.add_routes([web.post("/v1/audio/speech", speech), web.get("/health", health)])
    return app


def utterances(phonemes: str) -> Iterator[str]:
    """Phonemes in parts as long as a model takes, ended by sentences where they can be, else by spaces."""
    part = ""
    for sentence in re.findall(r"[^.!?…]*[.!?…]*\s*", phonemes):
        for word in [sentence] if len(sentence) <= _MOST else re.findall(r"\S+\s*", sentence):
            if len(part) + len(word) > _MOST:
                yield part.strip()
                part = ""
            part += word[:_MOST]
    if part.strip():
        yield part.strip()


def main() -> None:
    """Serve what the request says until the process is ended."""
    from kokoro_tvm.runtime import Synthesizer, Voices, read_bundle
    from kokoro_tvm.runtime.bundle.voices import style_of
    from kokoro_tvm.runtime.text.phonemes import encode

    request = json.loads(Path(sys.argv[1]).read_bytes())
    bundle = read_bundle(request["bundle"])
    voices = Voices.open(bundle)
    table, reader = voices.table(VOICE), Synthesizer.from_parts(bundle, _NoRunner(), voices)

    def read(text: str) -> list[BenchUtterance]:
        found = []
        for part in utterances(" ".join(reader.phonemize(text, VOICE))):
            style = tuple(float(value) for value in style_of(table, part))
            found.append(BenchUtterance(tuple(encode(part, bundle.vocabulary)), style))
        return found

    app = create_peer(open_engine(EngineSpec(**request["engine"])), read)
    web.run_app(app, host="127.0.0.1", port=request["port"], print=None)


class _NoRunner:
    """In the place of a bundle's code: of the bundle, the front end alone is used."""

    def run(self, component: str, length: int, *inputs: Any) -> tuple[Any, ...]:
        raise NotImplementedError(component)


if __name__ == "__main__":
    main()
