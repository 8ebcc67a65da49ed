"""Cache of pieces: its keys, and requests while its store fails."""

from __future__ import annotations

import dataclasses
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import LONG, Server, serving, toy_synthesizer, wait_for
from sessions import talk
from toy_bundle import FakeRunner, edit_manifest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Plan, Synthesizer
from kokoro_tvm.runtime.speech.piece import Piece, Word
from kokoro_tvm.runtime.speech.rendering import digest_of, render
from kokoro_tvm.serving.metrics import Metrics
from kokoro_tvm.serving.pieces.cache import PieceCache
from kokoro_tvm.serving.pieces.store import PieceStore
from kokoro_tvm.serving.settings import Settings

# What decides about no audio of a piece whose durations are known.
NO_SOUND = {
    "Word": {"text", "start", "end", "rate", "joined"},
    "Piece": {"voice"},
    "Plan": {"voice", "speed"},
}
OTHER = {
    ("Word", "phonemes"): "cab", ("Word", "space"): "", ("Word", "durations"): (9, 2, 2, 2),
    ("Word", "pitch"): 1.5, ("Piece", "style"): 5, ("Piece", "noise"): 1, ("Piece", "lead"): 7,
    ("Piece", "tail"): 7, ("Piece", "keep"): (3, 4), ("Piece", "pause"): 5, ("Piece", "pitch"): (1.0, 2.0),
    ("Piece", "words"): (Word("a", 0, 1, "a", durations=(1,)),), ("Plan", "seed"): 1,
    ("Piece", "before"): (Word("a", 0, 1, "a", " ", (9, 1)),),
    ("Piece", "after"): (Word("a", 0, 1, "a", durations=(9,)),),
    ("Plan", "sample_rate"): 8000, ("Plan", "samples_per_frame"): 20, ("Plan", "mute"): False,
    ("Word", "text"): "other", ("Word", "start"): 0, ("Word", "end"): 99, ("Word", "rate"): 2.0,
    ("Word", "joined"): True, ("Piece", "voice"): "am_adam", ("Plan", "voice"): "am_adam",
    ("Plan", "speed"): 2.0, ("Plan", "pieces"): (Piece((), pause=3),),
}  # fmt: skip
WORD = Word("bad", 0, 3, "bad", " ", (3, 2, 2, 2))
PIECE = Piece(
    (WORD, Word("dog", 4, 7, "dog", durations=(1, 2, 3))), style=4, noise=0, keep=(2, None), pause=2
)
PLAN = Plan((), "af_heart", 1.0, 0, 24_000, 10)


def counts(metrics: Metrics, action: str) -> Counter[str]:
    """How often each result of reading or writing was counted."""
    families = metrics.counted.collect()
    (samples,) = [each.samples for each in families if each.name == f"kokoro_tvm_cache_{action}s"]
    return Counter({sample.labels["result"]: int(sample.value) for sample in samples if sample.value})


def reads(server: Server) -> Counter[str]:
    return counts(server.service.metrics, "read")


def writes(server: Server) -> Counter[str]:
    return counts(server.service.metrics, "write")


def speak_twice(server: Server, text: str = LONG, **fields: Any) -> tuple[bytes, bytes]:
    first = server.speak(text, **fields).body
    pieces = reads(server).total()
    wait_for(lambda: writes(server).total() + reads(server)["hit"] == pieces)
    return first, server.speak(text, **fields).body


@contextmanager
def cached(store: Any, **options: float) -> Iterator[tuple[PieceCache, Metrics]]:
    metrics = Metrics()
    cache = PieceCache(store, metrics, **options)
    try:
        yield cache, metrics
    finally:
        cache.close()


def test_cache_computes_a_text_once(start: Callable[..., Server], tmp_path: Path) -> None:
    server = start(cache=str(tmp_path / "pieces"))
    first, second = speak_twice(server)
    pieces = len(server.synthesizer.plan(LONG).pieces)
    assert first == second == server.expected(LONG)
    assert reads(server) == {"miss": pieces, "hit": pieces}
    assert writes(server) == {"written": pieces}
    assert server.runner._decoded == pieces + pieces  # and once more by the synthesizer alone, just now
    files = [path for path in (tmp_path / "pieces").rglob("*") if path.is_file()]
    assert len(files) == pieces
    text = server.get("/metrics").body.decode()
    assert f"kokoro_tvm_cache_bytes {float(sum(path.stat().st_size for path in files))}\n" in text


def test_cache_serves_every_route(start: Callable[..., Server], tmp_path: Path) -> None:
    server = start(cache=str(tmp_path / "pieces"))
    speak_twice(server)
    decoded = server.runner._decoded
    whole = server.speak(LONG, response_format="wav").body
    assert whole[44:] == server.speak(LONG).body

    async def session(client: Any) -> bytes:
        await client.say(LONG)
        await client.send("input_text.end")
        return (await client.speech())[1]

    assert talk(server, session) == whole[44:]
    assert server.runner._decoded == decoded


@pytest.mark.parametrize(
    "fields",
    [
        {"voice": "am_adam"},
        {"voice": "af_heart(2)+am_adam"},
        {"speed": 1.5},
        {"seed": 7},
        {"lang_code": "b"},
        {"input": LONG.replace("ran", "[ran](/nan/)")},
        {"input": LONG.replace("hand", "[rate:2] hand")},
        {"input": "Dim. " + LONG},
        {"volume_multiplier": 0.1},
        {"response_format": "flac"},
        {"response_format": "mp3"},
    ],
)
def test_cache_distinguishes_requests(
    start: Callable[..., Server], tmp_path: Path, fields: dict[str, Any]
) -> None:
    """A cache that holds the plain text changes no other request, nor its own later ones."""
    server, plain = start(cache=str(tmp_path / "pieces")), start()
    speak_twice(server)
    request = {"input": LONG, "response_format": "pcm"} | fields
    expected = plain.post("/v1/audio/speech", request).body
    text = request.pop("input")
    assert speak_twice(server, text, **request) == (expected, expected)


@pytest.mark.parametrize("record", [Word, Piece, Plan])
def test_digest_covers_everything_audible(tmp_path: Path, record: type[Any]) -> None:
    """Every field of a plan that changes the audio changes the digest."""
    tts = toy_synthesizer(tmp_path / "toy", FakeRunner())
    table = tts.voices.table("af_heart")

    def outcome(plan: Plan, piece: Piece) -> tuple[str, bytes]:
        return digest_of(tts.bundle, table, plan, piece), render(model(tts), table, plan, piece).tobytes()

    digest, audio = outcome(PLAN, PIECE)
    for field in dataclasses.fields(record):
        change = {field.name: OTHER[record.__name__, field.name]}
        plan = replace(PLAN, **change) if record is Plan else PLAN
        piece = replace(PIECE, **change) if record is Piece else PIECE
        if record is Word:
            durations = {"phonemes": {"durations": (3, 2, 2, 2)}, "space": {"durations": (3, 2, 2)}}
            changed = replace(WORD, **change, **durations.get(field.name, {}))
            piece = replace(PIECE, words=(changed, *PIECE.words[1:]))
        if plan.samples_per_frame != PLAN.samples_per_frame:
            assert digest_of(tts.bundle, table, plan, piece) != digest
            continue
        found, heard = outcome(plan, piece)
        silent = field.name in NO_SOUND[record.__name__] or (record is Plan and field.name == "pieces")
        assert (found == digest) is silent, field.name
        assert heard == audio if silent else True, field.name


def test_digest_covers_voice_and_bundle(tmp_path: Path) -> None:
    tts = toy_synthesizer(tmp_path / "toy", FakeRunner())
    edit_manifest(tmp_path / "toy", lambda manifest: manifest.update(recipe="another"))
    other = toy_synthesizer(tmp_path / "other", FakeRunner())
    edit_manifest(tmp_path / "other", lambda manifest: manifest.update(recipe="another"))
    table = tts.voices.table("af_heart")
    digests = {
        digest_of(tts.bundle, table, PLAN, PIECE),
        digest_of(tts.bundle, tts.voices.table("am_adam"), PLAN, PIECE),
        digest_of(tts.bundle, tts.voices.table("af_heart(2)+am_adam"), PLAN, PIECE),
        digest_of(replace(tts.bundle, sha256="0" * 64), table, PLAN, PIECE),
    }
    assert len(digests) == 4
    assert digest_of(other.bundle, table, PLAN, PIECE) in digests


def model(tts: Synthesizer) -> Any:
    from kokoro_tvm.runtime.session.model import Model

    return Model(tts.bundle, tts.runner)


def test_cache_replaces_a_damaged_entry(
    start: Callable[..., Server], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = start(cache=str(tmp_path / "pieces"))
    first, _ = speak_twice(server)
    paths = [path for path in (tmp_path / "pieces").rglob("*") if path.is_file()]
    paths[0].write_bytes(paths[0].read_bytes()[:-4])
    paths[1].write_bytes(bytes(paths[1].stat().st_size))
    assert server.speak(LONG).body == first
    assert reads(server)["damaged"] == 2
    assert [record.message for record in caplog.records].count("cache entry damaged") == 2
    wait_for(lambda: writes(server)["written"] == len(paths) + 2)
    assert server.speak(LONG).body == first
    assert reads(server)["damaged"] == 2


def test_cache_skips_bundles_without_a_digest(tmp_path: Path) -> None:
    tts = toy_synthesizer(tmp_path / "toy", FakeRunner())
    tts.bundle = replace(tts.bundle, sha256="")
    with cached(PieceStore(str(tmp_path / "pieces"), 1 << 20)) as (cache, _):
        cache.around(render)(model(tts), tts.voices.table("af_heart"), PLAN, PIECE, None)
    assert not (tmp_path / "pieces").exists()


class Broken:
    """A store that fails, or hangs, as long as it is told to."""

    url = "broken://"
    bytes = 0

    def __init__(self) -> None:
        self.error: Exception | None = OSError(28, "No space left on device")
        self.free = threading.Event()
        self.free.set()
        self.calls: list[str] = []
        self.tile_rows: dict[str, Any] = {}

    def get(self, digest: str, samples: int) -> Any:
        self._call("get")
        return self.tile_rows.get(digest)

    def put(self, digest: str, audio: Any) -> bool:
        self._call("put")
        self.tile_rows[digest] = audio
        return True

    def _call(self, name: str) -> None:
        self.calls.append(name)
        assert self.free.wait(30)
        if self.error:
            raise self.error


def test_cache_logs_a_failing_store_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Broken()
    tts = toy_synthesizer(tmp_path / "toy", FakeRunner())
    arguments = model(tts), tts.voices.table("af_heart"), PLAN, PIECE, None
    with cached(store) as (cache, metrics):
        speak = cache.around(render)
        audio = [speak(*arguments) for _ in range(5)]
        wait_for(lambda: counts(metrics, "write")["failed"] + counts(metrics, "write")["skipped"] == 5)
    assert all(np.array_equal(each, audio[0]) for each in audio)
    assert store.calls == ["get", "put"]
    for action in ("read", "write"):
        assert counts(metrics, action) == {"failed": 1, "skipped": 4}
    assert sorted(record.message for record in caplog.records) == [
        "cache cannot be read",
        "cache cannot be written",
    ]
    assert all("No space left on device" in record.error for record in caplog.records)  # type: ignore[attr-defined]


def test_cache_uses_a_recovered_store(tmp_path: Path) -> None:
    store = Broken()
    tts = toy_synthesizer(tmp_path / "toy", FakeRunner())
    arguments = model(tts), tts.voices.table("af_heart"), PLAN, PIECE, None
    with cached(store, retry_delay_s=0.0) as (cache, metrics):
        speak = cache.around(render)
        speak(*arguments)
        wait_for(lambda: counts(metrics, "write")["failed"])
        store.error = None
        speak(*arguments)
        wait_for(lambda: counts(metrics, "write")["written"])
        speak(*arguments)
    assert counts(metrics, "read")["hit"] == 1


def test_cache_skips_a_hanging_store(tmp_path: Path) -> None:
    store = Broken()
    store.error = None
    store.free.clear()
    tts = toy_synthesizer(tmp_path / "toy", FakeRunner())
    arguments = model(tts), tts.voices.table("af_heart"), PLAN, PIECE, None
    with cached(store, read_timeout_s=0.05, retry_delay_s=0.0) as (cache, metrics):
        speak = cache.around(render)
        for _ in range(3):
            speak(*arguments)
        assert store.calls == ["get"]
        assert counts(metrics, "read")["failed"] == 1
        assert counts(metrics, "read")["skipped"] == 2
        store.free.set()
        wait_for(lambda: not cache._hanging_reads)

        def read_again() -> bool:  # or written meanwhile: a busy machine takes longer than the timeout
            speak(*arguments)
            return counts(metrics, "read")["miss"] + counts(metrics, "read")["hit"] > 0

        wait_for(read_again)


def test_cache_read_releases_the_turn(tmp_path: Path) -> None:
    store = Broken()
    store.error = None
    with serving(tmp_path / "toy") as server, cached(store, read_timeout_s=30.0) as (cache, _):
        store.free.clear()
        server.service.cache = cache
        answers: list[bytes] = []
        waiting = threading.Thread(target=lambda: answers.append(server.speak("A bad dog.").body))
        waiting.start()
        wait_for(lambda: store.calls)
        server.service.cache = None
        assert server.speak("Ha.").status == 200
        store.free.set()
        waiting.join()
        assert answers == [server.expected("A bad dog.")]


def test_cache_bounds_pending_writes() -> None:
    store = Broken()
    store.error = None
    audio = np.zeros(500, np.float32)
    with cached(store, max_pending_bytes=4000) as (cache, metrics):
        store.free.clear()
        cache._write("first", audio)
        wait_for(lambda: store.calls)
        for number in range(4):
            cache._write(str(number), audio)
        assert counts(metrics, "write")["skipped"] == 2
        store.free.set()
    assert sorted(store.tile_rows) == ["0", "1", "first"]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "https://a.example/b",
            "The cache, https://a.example/b, is a web server. Name a folder or a bucket.",
        ),
        ("nothing://a", "The cache, nothing://a, cannot be reached: Protocol not known: nothing."),
    ],
)
def test_check_cache_refuses_unusable_folders(tmp_path: Path, url: str, message: str) -> None:
    from kokoro_tvm.serving.app import create_app
    from kokoro_tvm.serving.bundles import Bundles

    tts = toy_synthesizer(tmp_path / "toy", FakeRunner())
    with pytest.raises(InputError) as caught:
        create_app(Settings(cache=url), Bundles({"toy": tts}))
    assert str(caught.value) == message


def test_cache_logs_no_texts(
    start: Callable[..., Server], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    caplog.set_level(logging.INFO)
    server = start(cache=str(tmp_path / "file"))
    assert server.speak("A secret cab.").status == 200
    wait_for(lambda: "cache cannot be written" in [record.message for record in caplog.records])
    assert "secret" not in json.dumps([vars(record) for record in caplog.records], default=str)
