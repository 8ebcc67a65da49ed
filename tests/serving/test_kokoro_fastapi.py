"""Requests of clients of Kokoro-FastAPI at commit 26eec06: examples of its README, and its page."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from serving import LONG, Server, wait_for

from kokoro_tvm.serving.downloads import Download, Downloads, choose_file_name
from kokoro_tvm.serving.errors import ApiError

VOICES = "[voice:am_adam] Bad dog. [pause:0.5s] [voice:af_heart(2)+am_adam] [rate:1.2] A [cab](/kab/)."


@pytest.mark.parametrize("body", ["af_heart(2)+am_adam(1)", ["af_heart(2)", "am_adam"]])
def test_combine_accepts_bare_voices(server: Server, body: Any) -> None:
    answer = requests.post(f"{server.url}/v1/audio/voices/combine", json=body, timeout=30)
    assert answer.status_code == 200
    assert answer.content == server.post("/v1/audio/voices/combine", {"voices": body}).body


@pytest.mark.parametrize("body", ["", [], ["a", 1], "nobody", 3, None])
def test_combine_refuses_invalid_voices(server: Server, body: Any) -> None:
    answer = server.post("/v1/audio/voices/combine", body)
    assert answer.status == 400
    assert set(answer.error) == {"message", "type", "param", "code"}


def test_document_allows_bare_voices(server: Server) -> None:
    schema = server.schema("/v1/audio/voices/combine")
    assert schema["anyOf"][1]["oneOf"] == schema["anyOf"][0]["properties"]["voices"]["oneOf"]


def test_captions_have_the_voice_of_each_word(server: Server) -> None:
    """As its client for subtitles of a dialogue groups them."""
    body = {"input": f"Ha. {VOICES}", "response_format": "pcm", "allow_voice_tags": True, "stream": False}
    words = server.post("/dev/captioned_speech", body).json["timestamps"]
    assert [(word["word"], word["voice"]) for word in words] == [
        ("Ha", "af_heart"),
        ("Bad", "am_adam"),
        ("dog", "am_adam"),
        ("A", "af_heart(2)+am_adam"),
        ("cab", "af_heart(2)+am_adam"),
    ]


def test_voice_tags_are_followed(server: Server) -> None:
    answer = server.speak(VOICES, allow_voice_tags=True)
    assert answer.body == server.expected(VOICES)
    assert "x-ignored-fields" not in answer.headers
    assert server.speak(VOICES, allow_voice_tags=False).headers["x-ignored-fields"] == "allow_voice_tags"


def of_its_page(text: str, **fields: Any) -> dict[str, Any]:
    """What web/src/services/AudioService.js sends; undefined values are left out by JSON.stringify."""
    return {
        "input": text,
        "voice": "af_heart",
        "response_format": "mp3",
        "download_format": "mp3",
        "stream": True,
        "speed": 1,
        "return_download_link": True,
        "return_timing": True,
        "allow_voice_tags": True,
    } | fields


def test_download_has_the_audio_of_the_response(server: Server) -> None:
    answer = server.post("/v1/audio/speech", of_its_page(LONG))
    path = answer.headers["x-download-path"]
    assert answer.headers["x-unknown-fields"] == "return_timing"
    again = server.get(f"/v1{path}")
    assert again.body == answer.body == server.speak(LONG, response_format="mp3").body
    assert again.headers["content-type"] == "audio/mpeg"
    assert again.headers["content-disposition"] == f'attachment; filename="{Path(path).name}"'
    saved = server.get(f"/v1{path}?name=../My%20speech.exe")
    assert saved.headers["content-disposition"] == 'attachment; filename="My_speech.mp3"'
    part = server.get(f"/v1{path}", {"Range": "bytes=10-19"})
    assert (part.status, part.body) == (206, answer.body[10:20])


@pytest.mark.parametrize("fields", [{"stream": False}, {"stream_format": "sse"}, {"response_format": "pcm"}])
def test_download_has_its_own_format(server: Server, fields: dict[str, Any]) -> None:
    answer = server.post("/v1/audio/speech", of_its_page(LONG, download_format="wav", **fields))
    again = server.get(f"/v1{answer.headers['x-download-path']}")
    assert again.body == server.speak(LONG, response_format="wav").body
    assert again.headers["content-type"] == "audio/wav"


def test_download_is_complete_before_the_response_ends(
    start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the length of the answer is known before its end."""
    finish = Download.finish

    def slow(download: Download) -> None:
        time.sleep(0.3)
        finish(download)

    monkeypatch.setattr(Download, "finish", slow)
    server = start()
    answer = server.speak(LONG, response_format="wav", return_download_link=True)
    assert server.get(f"/v1{answer.headers['x-download-path']}").body == answer.body


def test_download_has_the_audio_of_captions(server: Server) -> None:
    answer = server.post("/dev/captioned_speech", of_its_page(LONG))
    again = server.get(f"/v1{answer.headers['x-download-path']}")
    audio = b"".join(base64.b64decode(json.loads(line)["audio"]) for line in answer.body.splitlines())
    assert again.body == audio


@pytest.mark.parametrize("name", ["a.mp3", "../bundle.json", "%2e%2e%2fbundle.json", "0" * 32 + ".mp3"])
def test_download_refuses_other_names(server: Server, name: str) -> None:
    assert server.speak("Ha.", return_download_link=True).status == 200
    assert server.get(f"/v1/download/{name}").status == 404


def test_download_is_dropped_after_a_failure(start: Callable[..., Server]) -> None:
    server = start()
    server.runner.fail_after(1)
    answer = server.speak(LONG, stream_format="sse", return_download_link=True)
    assert b'"type": "error"' in answer.body
    assert server.get(f"/v1{answer.headers['x-download-path']}").status == 404


def test_download_is_ignored_without_a_writable_folder(start: Callable[..., Server], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    server = start(download_folder=str(tmp_path / "file"))
    answer = server.speak("Ha.", return_download_link=True)
    assert answer.body == server.speak("Ha.").body
    assert answer.headers["x-ignored-fields"] == "return_download_link"
    assert "x-download-path" not in answer.headers


def test_downloads_delete_a_temporary_folder(tmp_path: Path) -> None:
    downloads = Downloads(None, 1000, 60)
    downloads.create("mp3").finish()
    folder = downloads._folder
    assert folder is not None
    assert folder.exists()
    downloads.close()
    assert not folder.exists()


def written(downloads: Downloads, size: int, age: float = 0.0) -> str:
    """The name of a complete file."""
    made = downloads.create("pcm")
    made.write(b"a" * size)
    made.finish()
    name = Path(made.path).name
    path = downloads.find(name)
    os.utime(path, (time.time() - age, time.time() - age))
    return name


def test_downloads_keep_within_their_size_and_age(tmp_path: Path) -> None:
    (tmp_path / "else").write_bytes(b"a" * 5000)
    downloads = Downloads(str(tmp_path), 1000, 60.0)
    old, first, second = written(downloads, 10, 70), written(downloads, 400, 20), written(downloads, 400, 10)
    with pytest.raises(ApiError):
        downloads.find(old)
    third = written(downloads, 400)
    other = Downloads(str(tmp_path), 1000, 60.0)  # another process, which shares the folder
    other.create("pcm")
    assert other.find(second).stat().st_size == other.find(third).stat().st_size == 400
    for name in (old, first):
        assert not (tmp_path / name).exists()
    assert (tmp_path / "else").exists()


def test_download_drops_a_too_large_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = Downloads(str(tmp_path), 1000, 60.0).create("pcm")
    for _ in range(4):
        made.write(b"a" * 400)
    made.finish()
    assert list(tmp_path.iterdir()) == []
    assert [record.message for record in caplog.records] == ["download not kept"]


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("", "a.mp3"),
        ("...", "a.mp3"),
        ("ä/b.wav", "b.mp3"),
        ("x" * 300, "x" * 100 + ".mp3"),
        ("a\r\nb: c", "a_b_c.mp3"),
    ],
)
def test_choose_file_name_keeps_safe_characters(wanted: str, name: str) -> None:
    assert choose_file_name(wanted, "a.mp3") == name


def test_download_is_dropped_after_a_hangup(start: Callable[..., Server], tmp_path: Path) -> None:
    server = start(download_folder=str(tmp_path / "kept"))
    server.runner.close_after(1)
    connection = server.connect()
    connection.request("POST", "/v1/audio/speech", json.dumps(of_its_page(LONG, response_format="pcm")))
    answer = connection.getresponse()
    path = answer.getheader("X-Download-Path")
    answer.read(2)
    server.runner.waiting.acquire()
    answer.close()
    connection.close()
    (job,) = server.service.scheduler.jobs
    wait_for(lambda: job.cancelled)
    server.runner.gate.set()
    assert server.get(f"/v1{path}").status == 404
