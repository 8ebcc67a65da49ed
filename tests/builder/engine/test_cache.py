"""Shared cache: restored outputs, damage, forgery, and servers that fail."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from made_stages import stage_in

from kokoro_tvm.builder.engine import cache as cache_module
from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.record import Output, StageRecord
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.common.errors import InputError

CONTENT = "one"


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return tmp_path / "shared"


@pytest.fixture
def checkout(tmp_path: Path, shared: Path, notes: list[str]) -> Callable[..., Stage]:
    """Return a function that creates the same stage in a checkout of its own."""

    def make(name: str, url: str = "", mode: Any = "read-write", secret: bytes | None = None) -> Stage:
        folder, cache = tmp_path / name, Cache(url or str(shared), mode, notes.append, secret)
        store = Store(folder / ".store", cache=cache)
        return stage_in(folder, "compile.decoder-64", store=store, parameters={"text": CONTENT})

    return make


def test_cache_restores_in_another_checkout(checkout: Callable[..., Stage], notes: list[str]) -> None:
    assert checkout("one").run() == "built"
    second = checkout("two")
    assert second.run() == "restored"
    assert second.path("out.txt").read_text() == CONTENT
    assert second.is_current()
    assert second.record() == checkout("one").record()
    assert not notes


def test_cache_read_only_is_not_written(checkout: Callable[..., Stage], shared: Path) -> None:
    checkout("one", mode="read-only").run()
    assert not shared.exists()
    checkout("two").run()
    before = sorted(shared.rglob("*"))
    assert checkout("three", mode="read-only").run() == "restored"
    assert sorted(shared.rglob("*")) == before


def test_cache_restores_a_lost_object(checkout: Callable[..., Stage]) -> None:
    stage = checkout("one")
    stage.run()
    stage.store.object(stage.sha256("out.txt")).unlink()
    stage.path("out.txt").unlink()
    assert stage.run() == "restored"
    assert stage.path("out.txt").read_text() == CONTENT


def test_cache_has_no_partial_files(checkout: Callable[..., Stage], shared: Path) -> None:
    checkout("one").run()
    assert not [p for p in shared.rglob("*") if p.name.startswith(".")]


def spoil(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    if path.exists():
        path.chmod(0o644)
    path.write_bytes(content)


def lie_about_the_key(record: Path) -> None:
    result = StageRecord.from_bytes(record.read_bytes())
    spoil(record, replace(result, derivation={"word": "other"}).to_bytes())


def lie_about_the_files(record: Path) -> None:
    result = StageRecord.from_bytes(record.read_bytes())
    outputs = tuple(replace(o, file="../../escaped.txt") for o in result.outputs)
    spoil(record, replace(result, outputs=outputs).to_bytes())


@pytest.mark.parametrize(
    "damage",
    [
        lambda objects, record: spoil(objects, b"eno"),
        lambda objects, record: spoil(objects, CONTENT.encode()[:2]),
        lambda objects, record: spoil(objects, b""),
        lambda objects, record: objects.unlink(),
        lambda objects, record: spoil(record, record.read_bytes()[:40]),
        lambda objects, record: spoil(record, b"\x00\xff"),
        lambda objects, record: spoil(record, record.read_bytes().replace(b"decoder-64", b"decoder-65")),
        lambda objects, record: lie_about_the_key(record),
        lambda objects, record: lie_about_the_files(record),
    ],
    ids=["swapped", "short", "empty", "gone", "cut", "binary", "edited", "another key", "outside"],
)
def test_cache_replaces_damaged_entries(
    damage: Callable[[Path, Path], Any],
    checkout: Callable[..., Stage],
    shared: Path,
    notes: list[str],
    tmp_path: Path,
) -> None:
    checkout("one").run()
    (objects,), (record,) = shared.glob("objects/*/*"), shared.glob("records/*/*")
    replace(checkout("other"), parameters={"text": "intact"}).run()
    damage(objects, record)
    second = checkout("two")
    assert second.run() == "built"
    assert second.path("out.txt").read_text() == CONTENT
    assert second.is_current()
    assert not list(tmp_path.rglob("escaped.txt"))
    (note,) = notes
    assert note.startswith(f"note: of the cache {shared}, ")
    assert note.endswith("; it is not used.")
    assert replace(second, parameters={"text": "intact"}).run() == "restored"
    assert checkout("three").run() == "restored"
    assert notes == [note]


SECRET = b"0123456789abcdef"


def forge(shared: Path, content: bytes, secret: bytes | None = None) -> None:
    """Write another library to the cache, with a matching record, as an attacker with write access could."""
    (record,) = shared.glob("records/*/*")
    result = StageRecord.from_bytes(record.read_bytes())
    sha256 = hashlib.sha256(content).hexdigest()
    output = Output("out.txt", len(content), sha256)
    spoil(record, replace(result, outputs=(output,)).to_bytes(secret))
    (shared / "objects" / sha256[:2]).mkdir(exist_ok=True)
    (shared / "objects" / sha256[:2] / sha256).write_bytes(content)


def test_cache_restores_signed_records(
    checkout: Callable[..., Stage], shared: Path, notes: list[str]
) -> None:
    checkout("one", secret=SECRET).run()
    (record,) = shared.glob("records/*/*")
    assert b'"hmac": "' in record.read_bytes()
    assert SECRET not in record.read_bytes()
    assert checkout("two", secret=SECRET).run() == "restored"
    assert checkout("three").run() == "restored", "who has no key does not check it"
    assert not notes


def test_cache_without_a_secret_trusts_writers(checkout: Callable[..., Stage], shared: Path) -> None:
    """Documented in docs/build.md. The next tests use the same forgery."""
    checkout("one").run()
    forge(shared, b"forged")
    second = checkout("two")
    assert second.run() == "restored"
    assert second.path("out.txt").read_bytes() == b"forged"


@pytest.mark.parametrize(
    ("forger", "reason"),
    [(None, "it has no HMAC"), (b"fedcba9876543210", "its HMAC was made with another key")],
    ids=["unsigned", "another key"],
)
@pytest.mark.parametrize("over_http", [False, True], ids=["folder", "http"])
def test_cache_with_a_secret_refuses_forged_records(
    forger: bytes | None,
    reason: str,
    over_http: bool,
    server: str,
    checkout: Callable[..., Stage],
    shared: Path,
    notes: list[str],
) -> None:
    checkout("one", secret=SECRET).run()
    forge(shared, b"forged", forger)
    place, mode = (server, "read-only") if over_http else (str(shared), "read-write")
    second = checkout("two", place, mode, SECRET)
    assert second.run() == "built"
    assert second.path("out.txt").read_text() == CONTENT
    assert notes == [
        f"note: of the cache {place}, the record {second.key()} is refused: {reason}; it is not used."
    ]
    third = replace(second, parameters={"text": "three"})
    assert third.run() == "built"
    assert len(notes) == 1


class Server(SimpleHTTPRequestHandler):
    """Web server of a folder, which fails in the way that `manner` says."""

    manner = "well"
    answers = 0

    def do_GET(self) -> None:
        Server.answers += 1
        match self.manner:
            case "well":
                super().do_GET()
            case "500":
                self.send_error(500)
            case "stall":
                time.sleep(3)
            case "short":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"half of it")
            case "swapped":
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"something": "else"}')

    do_HEAD = do_GET  # noqa: N815  (the name the library looks for)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start the server and return its URL."""
    monkeypatch.setattr(Server, "answers", 0)
    shared.mkdir()
    serving = ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=str(shared)))
    thread = threading.Thread(target=serving.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    thread.join()
    serving.server_close()


def test_cache_is_read_from_a_web_server(
    checkout: Callable[..., Stage], server: str, notes: list[str]
) -> None:
    checkout("one").run()
    assert checkout("two", server, "read-only").run() == "restored"
    assert replace(checkout("three", server, "read-only"), parameters={"text": "three"}).run() == "built"
    assert not notes


@pytest.mark.parametrize("manner", ["500", "stall", "short"])
def test_cache_failure_causes_one_note_and_a_build(
    manner: str,
    checkout: Callable[..., Stage],
    server: str,
    notes: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checkout("one").run()
    monkeypatch.setattr(Server, "manner", manner)
    monkeypatch.setattr(cache_module, "_TIMEOUT_S", 0.5)
    second = checkout("two", server, "read-only")
    assert second.run() == "built"
    assert second.path("out.txt").read_text() == CONTENT
    (note,) = notes
    assert server in note
    answers = Server.answers
    third = replace(second, parameters={"text": "three"})
    assert third.run() == "built"
    assert (Server.answers, len(notes)) == (answers, 1), "it is left alone"


def test_prune_keeps_records_and_their_objects(
    checkout: Callable[..., Stage], shared: Path, notes: list[str]
) -> None:
    kept = checkout("one")
    kept.run()
    replace(kept, parameters={"text": "other"}).run()
    spoil(shared / "records" / "aa" / f"{'a' * 64}.json", b"no record")
    kept.run()
    cache = Cache(str(shared), "read-write", notes.append)
    before = sorted(shared.rglob("*"))
    planned = cache.prune({kept.key()}, dry_run=True)
    assert sorted(shared.rglob("*")) == before
    pruned = cache.prune({kept.key()})
    assert pruned == planned
    assert (pruned.records, pruned.objects) == (2, 1)
    assert pruned.bytes > len("other")
    assert len(list(shared.glob("records/*/*"))) == len(list(shared.glob("objects/*/*"))) == 1
    assert checkout("two").run() == "restored"
    assert not notes


def test_prune_rejects_read_only_caches(shared: Path, notes: list[str]) -> None:
    assert Cache(str(shared), "read-write", notes.append).prune(()).bytes == 0
    with pytest.raises(InputError, match="is only read"):
        Cache(str(shared), "read-only", notes.append).prune(())


def test_cache_server_that_is_down_causes_one_note(checkout: Callable[..., Stage], notes: list[str]) -> None:
    assert checkout("one", "http://127.0.0.1:9", "read-only").run() == "built"
    assert len(notes) == 1


def test_cache_folder_that_is_not_writable_causes_one_note(
    checkout: Callable[..., Stage], shared: Path, notes: list[str]
) -> None:
    shared.write_text("no folder")
    assert checkout("one").run() == "built"
    assert len(notes) == 1


def test_from_environment_reads_url_mode_and_key() -> None:
    def cache(**environment: str) -> Any:
        result = Cache.from_environment(pytest.fail, {f"KOKORO_TVM_{k}": v for k, v in environment.items()})
        return result and (result.url, result.mode, *(["signed"] if result.is_signed else []))

    assert cache() is None
    assert cache(CACHE="/some/folder", CACHE_MODE="off") is None
    assert cache(CACHE="/some/folder/") == ("/some/folder", "read-write")
    assert cache(CACHE="file:///some/folder", CACHE_MODE="read-only") == ("file:///some/folder", "read-only")
    assert cache(CACHE="https://some.where/x") == ("https://some.where/x", "read-only")
    key = "0123456789abcdef"
    assert cache(CACHE="/x", CACHE_KEY=key) == ("/x", "read-write", "signed")
    assert cache(CACHE="http://some.where", CACHE_KEY=key) == ("http://some.where", "read-only", "signed")
    assert cache(CACHE="http://some.where", CACHE_MODE="off") is None


@pytest.mark.parametrize(
    ("url", "mode", "message"),
    [
        ("/x", "readonly", "KOKORO_TVM_CACHE_MODE is 'readonly'; it can be read-only, read-write, off."),
        (
            "https://x.y/z",
            "read-write",
            "KOKORO_TVM_CACHE, https://x.y/z, is a web server and cannot be written to; set "
            "KOKORO_TVM_CACHE_MODE=read-only, or name a folder or bucket.",
        ),
        ("gopher://x", "", "KOKORO_TVM_CACHE, gopher://x, cannot be reached: Protocol not known: gopher."),
    ],
)
def test_from_environment_rejects_invalid_values(url: str, mode: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Cache.from_environment(pytest.fail, {"KOKORO_TVM_CACHE": url, "KOKORO_TVM_CACHE_MODE": mode})
    assert str(caught.value) == message


@pytest.mark.parametrize("url", ["http://x.y/z", "HTTP://x.y/z", "simplecache::http://x.y/z", "ftp://x.y/z"])
def test_from_environment_rejects_http_without_a_key(url: str) -> None:
    with pytest.raises(InputError) as caught:
        Cache.from_environment(pytest.fail, {"KOKORO_TVM_CACHE": url})
    assert str(caught.value) == (
        f"KOKORO_TVM_CACHE, {url}, is not encrypted: anyone on the way could hand over code that this "
        "machine then runs. Use https, or set KOKORO_TVM_CACHE_KEY to the key that its records were written "
        "with."
    )


def test_from_environment_rejects_a_short_key() -> None:
    with pytest.raises(InputError) as caught:
        Cache.from_environment(pytest.fail, {"KOKORO_TVM_CACHE": "/x", "KOKORO_TVM_CACHE_KEY": "secret"})
    assert str(caught.value) == (
        "KOKORO_TVM_CACHE_KEY has 6 characters; it needs at least 16. `openssl rand -hex 32` makes one."
    )


def test_offer_writes_equal_outputs_once(shared: Path, notes: list[str], tmp_path: Path) -> None:
    (tmp_path / "a").write_text("same")
    digest = Store(tmp_path / "s").verified.sha256(tmp_path / "a")
    outputs = (Output("a", 4, digest), Output("b", 4, digest))
    cache = Cache(str(shared), "read-write", notes.append)
    cache.offer(StageRecord("cpu.x", {"word": "one"}, outputs, 1.0, 1.0, 1.0), lambda o: tmp_path / "a")
    assert len(list(shared.glob("objects/*/*"))) == 1
    assert not notes


class Endless(SimpleHTTPRequestHandler):
    """Web server that sends bytes without end for paths that contain `part`; `sent` counts them."""

    part = ""
    sent = 0

    def do_GET(self) -> None:
        if self.part not in self.path:
            return super().do_GET()
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):  # once nobody reads it any more
            while Endless.sent < 1 << 30:
                self.wfile.write(bytes(1 << 16))
                Endless.sent += 1 << 16
        return None

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.mark.parametrize("part", ["/records/", "/requests/", "/objects/"])
def test_cache_reads_no_more_than_is_declared(
    part: str,
    checkout: Callable[..., Stage],
    shared: Path,
    notes: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Endless, "part", part)
    monkeypatch.setattr(Endless, "sent", 0)
    monkeypatch.setattr(cache_module, "_MAX_RECORD_BYTES", 1 << 20)
    secret = b"of sixteen bytes"
    checkout("one", secret=secret).run()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Endless, directory=str(shared))) as serving:
        threading.Thread(target=serving.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{serving.server_port}"
        assert checkout("two", url, "read-only", secret).run() == "built"
        serving.shutdown()
    assert len(notes) == 1
    # What was read, and what sockets hold.
    assert Endless.sent < 32 << 20


@pytest.mark.parametrize(
    "change", [{"size": "3"}, {"size": -1}, {"size": 1.5}, {"sha256": None}, {"sha256": ["a"]}]
)
def test_cache_refuses_a_record_with_a_field_of_another_type(
    change: dict[str, Any], shared: Path, notes: list[str]
) -> None:
    record = StageRecord("a", {"code": "b"}, (replace(Output("a", 3, "0" * 64), **change),), 1.0, 1.0, 1.0)
    path = shared / "records" / record.key[:2] / f"{record.key}.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(record.to_bytes())
    assert Cache(str(shared), "read-only", notes.append).record(record.key, ["a"]) is None
    assert "is refused: not" in notes[0]
