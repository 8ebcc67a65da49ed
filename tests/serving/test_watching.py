"""Operation of a server: metrics, logs, its OpenAPI document, changed bundles."""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from serving import LONG, Server, wait_for
from toy_bundle import FakeRunner, edit_manifest, write_bundle

from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.runtime import SpeechWarning, Synthesizer, Voices, read_bundle
from kokoro_tvm.runtime.bundle.voice_files import encode_voice, read_voices
from kokoro_tvm.serving import server
from kokoro_tvm.serving.bundles import Bundles, name_folders
from kokoro_tvm.serving.jobs import YieldingRunner
from kokoro_tvm.serving.logs import JsonLines, PlainLines, log_notices
from kokoro_tvm.serving.metrics import Metrics
from kokoro_tvm.serving.names import list_voices
from kokoro_tvm.serving.settings import Settings


def metrics(server: Server) -> dict[str, float]:
    text = server.get("/metrics").body.decode()
    assert re.fullmatch(r"(# (HELP|TYPE) .+\n|[a-z_]+(\{.+\})? [-+.0-9e]+\n)+", text)
    return {n: float(v) for n, v in (line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")}


def test_metrics_count_requests_and_speeches(start: Callable[..., Server]) -> None:
    server = start()
    spoken = server.speak(LONG)
    server.speak("...")
    result = metrics(server)
    assert result['kokoro_tvm_speeches_total{outcome="spoken"}'] == 1
    assert result['kokoro_tvm_speeches_total{outcome="refused"}'] == 1
    assert result['kokoro_tvm_http_requests_total{path="/v1/audio/speech",status="200"}'] == 1
    assert result["kokoro_tvm_audio_seconds_total"] == pytest.approx(len(spoken.body) / 48000, abs=1e-5)
    assert result["kokoro_tvm_pieces_total"] == len(server.synthesizer.plan(LONG).pieces)
    assert result["kokoro_tvm_first_sound_seconds_count"] == 1
    assert result["kokoro_tvm_computing_seconds_total"] > 0
    assert result["kokoro_tvm_speeches"] == 0
    server.get("/nowhere/%0A%22")
    assert metrics(server)['kokoro_tvm_http_requests_total{path="unknown",status="404"}'] == 1


def test_log_lines_are_json_without_texts(
    start: Callable[..., Server], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kokoro_tvm.serving")
    answer = start().speak("A secret cab.")
    wait_for(lambda: [r for r in caplog.records if r.message == "request"])
    lines = [json.loads(JsonLines().format(r)) for r in caplog.records if r.name == "kokoro_tvm.serving"]
    (line,) = [line for line in lines if line["message"] == "request"]
    assert line["request"] == answer.headers["x-request-id"]
    assert {k: line[k] for k in ("method", "path", "status", "client")} == {
        "method": "POST",
        "path": "/v1/audio/speech",
        "status": 200,
        "client": "127.0.0.1",
    }
    assert "secret" not in json.dumps(lines)


def test_plain_lines_have_message_and_fields() -> None:
    record = logging.makeLogRecord(
        {
            "msg": "request",
            "levelno": logging.WARNING,
            "levelname": "WARNING",
            "path": "/x?key=secret",
            "status": 200,
        }
    )
    line = PlainLines().format(record)
    assert line[8:] == "  WARNING  request  path=/x?…  status=200"


def test_log_texts_logs_texts(start: Callable[..., Server], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kokoro_tvm.serving")
    start(log_texts=True).speak("A secret cab.")
    (record,) = [record for record in caplog.records if record.message == "text"]
    assert json.loads(JsonLines().format(record))["text"] == "A secret cab."


@pytest.mark.parametrize("texts", [True, False])
def test_log_notices_follows_log_texts(texts: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kokoro_tvm.serving")
    metrics = Metrics()
    with warnings.catch_warnings():
        log_notices(metrics, texts)
        warnings.warn("left out: secret", SpeechWarning, stacklevel=1)
    assert [r.notice for r in caplog.records] == (["left out: secret"] if texts else [])  # type: ignore[attr-defined]
    assert metrics.counted.get_sample_value("kokoro_tvm_notices_total") == 1


def test_exceptions_are_logged_only(start: Callable[..., Server], caplog: pytest.LogCaptureFixture) -> None:
    server = start()
    server.runner.fail_after(0)
    answer = server.speak("Ha.")
    assert answer.status == 500
    assert b"secret" not in answer.body
    (record,) = [record for record in caplog.records if record.message == "synthesis failed"]
    assert "/secret/place" in json.loads(JsonLines().format(record))["exception"]


def test_document_names_every_route_and_field(server: Server) -> None:
    result = server.get("/openapi.json").json
    assert result["openapi"] == "3.1.0"
    speech = server.schema("/v1/audio/speech")
    assert speech["required"] == ["input"]
    assert speech["properties"]["speed"] == {
        "anyOf": [{"type": "number", "minimum": 0.25, "maximum": 4.0}, {"type": "null"}],
        "default": 1.0,
        "description": "Speed of speech; above 1 is faster.",
        "title": "Speed",
    }
    page = server.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    kept = Path(server.speak("Ha.", return_download_link=True).headers["x-download-path"]).name
    for path, operations in result["paths"].items():
        assert path in page.body.decode()
        named = path.replace("{name}", kept if "download" in path else "toy")
        for method in operations:
            assert server.request(method.upper(), named, {}).status in (200, 400)


def test_name_folders_parses_names() -> None:
    result = name_folders(["fast=artifacts/bf16", "artifacts/cpu"])
    assert result == {"fast": Path("artifacts/bf16"), "cpu": Path("artifacts/cpu")}
    with pytest.raises(InputError, match="Two bundles are called 'cpu'"):
        name_folders(["a/cpu", "b/cpu"])
    for bad in ("=a", "a=", "\n=a"):
        with pytest.raises(InputError, match="is no bundle"):
            name_folders([bad])


def opened(path: Path, threads: int | None, voices: str | None, lexicon: str | None) -> Synthesizer:
    bundle = read_bundle(path)
    own = {} if voices is None else read_voices(Path(voices), 2 * bundle.style_dim)
    return Synthesizer.from_parts(bundle, FakeRunner(), Voices.open(bundle).joined(own))


def test_reload_reads_the_folder_of_voices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kokoro_tvm.serving.bundles.Synthesizer", opened)
    folder, voices = write_bundle(tmp_path / "bundle"), tmp_path / "voices"
    voices.mkdir()
    table = Voices.open(read_bundle(folder)).table("af_heart")
    (voices / "af_mine.pt").write_bytes(encode_voice(table, ".pt"))
    bundles = Bundles.open({"toy": folder}, voices=str(voices))
    listed_now = {each["id"]: each["language"] for each in list_voices(bundles.of("toy").voices)}
    assert listed_now["af_mine"] == "American English" and "em_other" not in listed_now
    (voices / "em_other.npy").write_bytes(encode_voice(table[:1], ".npy"))
    bundles.reload()
    assert {"af_mine", "em_other"} < {each["id"] for each in list_voices(bundles.of("toy").voices)}
    (voices / "em_other.npy").write_bytes(b"")
    with pytest.raises(InputError, match=r"The voice .*em_other\.npy is no \.npy file"):
        bundles.reload()
    assert "em_other" in bundles.of("toy").voices.names


def test_reload_opens_changed_bundles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kokoro_tvm.serving.bundles.Synthesizer", opened)
    folder = write_bundle(tmp_path / "bundle")
    bundles = Bundles.open({"toy": folder, "again": folder})
    before = bundles.of("again")
    assert bundles.changed() == ()
    assert bundles.of("other") is bundles.of("toy")
    edit_manifest(folder, lambda manifest: manifest.update(recipe="another"))
    assert bundles.changed() == ("toy", "again")
    bundles.reload()
    assert bundles.changed() == ()
    assert bundles.of("again").bundle.recipe == "another"
    assert isinstance(bundles.of("again").runner, YieldingRunner)
    (folder / "bundle.json").unlink()
    assert bundles.changed() == ("toy", "again")
    with pytest.raises(BundleError):
        bundles.reload()
    assert bundles.of("again").bundle.recipe == "another"
    assert before.bundle.recipe == "toy"


@pytest.mark.parametrize(("given", "threads"), [({}, 3), ({"threads": 5}, 5)])
def test_workers_divide_the_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: dict[str, int], threads: int
) -> None:
    monkeypatch.delenv("TVM_NUM_THREADS", raising=False)
    monkeypatch.setattr("kokoro_tvm.runtime.threads.usable_cores", lambda: 6)
    write_bundle(tmp_path)
    settings = Settings(bundle=(str(tmp_path),), workers=2, **given)
    monkeypatch.setenv("_KOKORO_TVM_SERVE", settings.model_dump_json())
    with (
        patch.object(Bundles, "open", side_effect=InputError("no further")) as opened,
        pytest.raises(InputError, match="no further"),
    ):
        server.create_worker_app()
    assert opened.call_args.args[1] == threads
