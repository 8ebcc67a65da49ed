"""POST /v1/audio/speech and its neighbours, over a socket."""

from __future__ import annotations

import http.client
import io
import json
import threading
import wave
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from letters import read_letters
from openai import BadRequestError, OpenAI
from serving import LONG, Server, ends_without_another_call

from kokoro_tvm.runtime.text.frontend.tokens import Utterance
from kokoro_tvm.serving.encoding.base import as_int16


@pytest.fixture
def client(server: Server) -> OpenAI:
    return OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)


def test_openai_client_gets_the_audio_of_the_synthesizer(server: Server, client: OpenAI) -> None:
    answer = client.audio.speech.create(
        model="tts-1", voice="am_adam", input=LONG, response_format="pcm", speed=1.5
    )
    assert answer.content == server.expected(LONG, "am_adam", 1.5)


def test_wav_response_has_its_length(server: Server) -> None:
    answer = server.speak(LONG, response_format="wav")
    assert answer.headers["content-type"] == "audio/wav"
    assert int(answer.headers["content-length"]) == len(answer.body)
    with wave.open(io.BytesIO(answer.body)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24000, 1, 2)
        assert file.readframes(file.getnframes()) == server.expected(LONG)
    assert int.from_bytes(answer.body[4:8], "little") == len(answer.body) - 8


def test_first_piece_is_sent_while_the_second_is_computed(start: Callable[..., Server]) -> None:
    server = start()
    server.runner.close_after(1)
    connection = server.connect()
    body = json.dumps({"input": LONG, "response_format": "pcm"})
    connection.request("POST", "/v1/audio/speech", body)
    answer = connection.getresponse()
    first = answer.read(2)
    server.runner.waiting.acquire()  # the decoder of the second piece
    server.runner.gate.set()
    assert first + answer.read() == server.expected(LONG)
    connection.close()


def test_hangup_cancels_the_job(start: Callable[..., Server]) -> None:
    server = start()
    server.runner.close_after(1)
    connection = server.connect()
    connection.request("POST", "/v1/audio/speech", json.dumps({"input": LONG, "response_format": "pcm"}))
    answer = connection.getresponse()
    answer.read(2)
    server.runner.waiting.acquire()
    answer.close()
    connection.close()
    ends_without_another_call(server)


def test_failure_after_first_audio_cuts_the_connection(start: Callable[..., Server]) -> None:
    server = start()
    server.runner.fail_after(1)
    with pytest.raises(http.client.IncompleteRead):
        server.speak(LONG)
    assert server.speak("Ha.").status == 500
    assert server.speak("Ha.").error["message"] == "The bundle failed. The server's log says how."


def test_errors_have_the_shape_of_openai(server: Server, client: OpenAI) -> None:
    with pytest.raises(BadRequestError) as caught:
        client.audio.speech.create(model="tts-1", voice="nobody", input="Ha.", response_format="pcm")
    assert caught.value.body["message"].startswith("There is no voice 'nobody'")  # type: ignore[index]
    answer = server.speak("Ha.", speed=9)
    assert answer.status == 400
    assert answer.error == {
        "message": "`speed`: Input should be less than or equal to 4, but is 9.",
        "type": "invalid_request_error",
        "param": "speed",
        "code": "invalid_type",
    }


def test_unknown_fields_are_named_in_a_header(server: Server) -> None:
    answer = server.post("/v1/audio/speech", {"input": "Ha.", "colour": 1, "a\r\nSet-Cookie: b": 2})
    assert answer.status == 200
    assert answer.headers["x-unknown-fields"] == "colour, ?"


def test_health_is_answered_during_planning(start: Callable[..., Server], monkeypatch: Any) -> None:
    """By the front end, and then by the model: neither is called on the thread of the event loop."""
    server = start()
    text = (LONG + "\n\n") * 600
    reading, threads = threading.Event(), set()

    def read(*arguments: Any) -> list[Utterance]:
        threads.add(threading.current_thread().name)
        server.runner.waiting.release()
        assert reading.wait(30)
        return read_letters(*arguments)

    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read)
    server.runner.planning.clear()
    with closing(server.connect()) as connection:
        connection.request("POST", "/v1/audio/speech", json.dumps({"input": text, "response_format": "wav"}))
        for gate in (reading, server.runner.planning):
            server.runner.waiting.acquire()
            for path in ("/health", "/ready", "/metrics", "/v1/models"):
                assert server.get(path).status == 200
            gate.set()
    assert threads == {"kokoro-tvm-request"}


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nowhere", 404), ("PUT", "/health", 405)])
def test_unknown_paths_are_refused(server: Server, method: str, path: str, status: int) -> None:
    answer = server.request(method, path)
    assert answer.status == status
    assert path in answer.error["message"]


def test_as_int16_rounds_and_clips() -> None:
    samples = np.array([0.0, 1.0, -2.0, 0.5 / 32767, -1.6 / 32767], np.float32)
    assert np.frombuffer(as_int16(samples), "<i2").tolist() == [0, 32767, -32767, 0, -2]
