"""Requests of common clients, and agents' services themselves."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import soundfile
from openai import OpenAI
from serving import LONG, Server

AGENTS = Path(__file__).parent / "agents"
RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))


def decoded(data: bytes) -> int:
    """Samples of an MP3."""
    audio, rate = soundfile.read(io.BytesIO(data))
    assert rate == 24000
    return len(audio)


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_server_answers_recorded_requests(server: Server, path: Path) -> None:
    """Those of a client's source at a commit; texts are put into them here."""
    for sent in json.loads(path.read_text(encoding="utf-8"))["requests"]:
        body = sent.get("body") and sent["body"] | {"input": LONG}
        answer = server.request(sent["method"], sent["path"], body, sent["headers"])
        assert answer.status == sent["status"], sent
        if sent["status"] != 200:
            assert body["voice"] in answer.json["error"]["message"]
        elif body is None:
            place, key, name = sent["holds"]
            assert name in [each[key] for each in answer.json[place]]
        else:
            assert answer.headers["content-type"] == "audio/mpeg"
            voice = server.synthesizer.voices.resolve(body["voice"])
            assert decoded(answer.body) >= len(server.expected(LONG, voice, body.get("speed", 1.0))) // 2


def test_server_answers_requests_of_pipecat(server: Server) -> None:
    """services/openai/tts.py of 1.14.0: PCM by OpenAI's names of voices, read as it comes."""
    client = OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    with client.audio.speech.with_streaming_response.create(
        input=LONG, model="gpt-4o-mini-tts", voice="ash", response_format="pcm", speed=1.5
    ) as answer:
        assert answer.status_code == 200
        audio = b"".join(answer.iter_bytes(4096))
    assert audio == server.expected(LONG, "am_adam", 1.5)


@pytest.mark.parametrize(("model", "format"), [("gpt-4o-mini-tts", "sse"), ("tts-1", "audio")])
def test_server_answers_requests_of_livekit(server: Server, model: str, format: str) -> None:
    """plugins/openai/tts.py of 1.8.9: the Content-Type of the answer says how it is read."""
    client = OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    with client.audio.speech.with_streaming_response.create(
        input=LONG,
        model=model,
        voice="ash",
        response_format="pcm",
        speed=1.5,
        stream_format=format,  # type: ignore[arg-type]
    ) as answer:
        kind = answer.headers["content-type"].split(";")[0]
        if format == "audio":
            assert kind == "audio/pcm"
            audio = b"".join(answer.iter_bytes())
        else:
            assert kind == "text/event-stream"
            audio = b""
            for line in answer.iter_lines():
                event: dict[str, Any] = json.loads(line[6:]) if line.startswith("data: ") else {"type": ""}
                audio += base64.b64decode(event.get("audio", ""))
            assert event["type"] in ("", "speech.audio.done")
    assert audio == server.expected(LONG, "am_adam", 1.5)


def installed(folder: Path, package: str) -> Path:
    """The Python of an environment with a package, whose requirements are not those of this project."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-compile", package], check=True)
    return python


def result(python: Path, program: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [python, AGENTS / program, *arguments], capture_output=True, encoding="utf-8", timeout=600
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.nightly
def test_server_speaks_to_installed_pipecat(server: Server, tmp_path: Path) -> None:
    python = installed(tmp_path / "pipecat", "pipecat-ai==1.14.0")
    found = result(python, "pipecat_speech.py", f"{server.url}/v1", LONG)
    audio = server.expected(LONG, "am_adam", 1.5)
    assert found == {
        "bytes": len(audio),
        "sha256": hashlib.sha256(audio).hexdigest(),
        "rates": [24000],
        "errors": [],
    }


@pytest.mark.nightly
def test_server_speaks_to_installed_livekit(server: Server, tmp_path: Path) -> None:
    python = installed(tmp_path / "livekit", "livekit-plugins-openai==1.8.9")
    audio = server.expected(LONG, "am_adam", 1.5)
    found = result(python, "livekit_speech.py", f"{server.url}/v1", LONG, "wav")
    assert found == {"bytes": len(audio), "sha256": hashlib.sha256(audio).hexdigest(), "rates": [24000]}
    # It ends PCM by 10 ms of silence; its decoder loses the last frame of FLAC and Opus, whoever wrote them.
    more = {
        "pcm": (480, 480),
        "mp3": (0, 2 * 2304),
        "aac": (0, 2 * 2048),
        "flac": (-8192, 0),
        "opus": (-960, 0),
    }
    for format, (least, most) in more.items():
        found = result(python, "livekit_speech.py", f"{server.url}/v1", LONG, format)
        assert found["rates"] == [24000]
        assert least <= found["bytes"] - len(audio) <= most, format
