"""`/dev/ssml` and `/dev/dialogue`, as clients of Kokoro-FastAPI 0.8.0 use them."""

from __future__ import annotations

from typing import Any

import pytest
from serving import Server
from ssml_documents import DOCUMENTS, WITH_VOICES

from kokoro_tvm.serving.jobs import SpeechJob
from kokoro_tvm.serving.requests import SpeechRequest
from kokoro_tvm.serving.service import Service

MARKUP = ("<", ">", "xmlns", "interpret-as", "not to be spoken", "the noise of", "barks")


@pytest.mark.parametrize("name", [*DOCUMENTS, *WITH_VOICES])
def test_ssml_route_reads_documents_of_other_services(server: Server, name: str) -> None:
    document = (DOCUMENTS | WITH_VOICES)[name]
    answer = server.post("/dev/ssml", {"text": document, "voice": "af_heart"})
    assert answer.status == 200, answer.body
    assert list(answer.json) == ["text"]
    assert not [mark for mark in MARKUP if mark in answer.json["text"]]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_speech_reads_documents_of_other_services(server: Server, name: str) -> None:
    answer = server.speak(DOCUMENTS[name], response_format="pcm", ssml=True, allow_voice_tags=True)
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("name", WITH_VOICES)
def test_speech_refuses_voices_of_other_services(server: Server, name: str) -> None:
    """As Kokoro-FastAPI refuses it."""
    answer = server.speak(WITH_VOICES[name], ssml=True, allow_voice_tags=True)
    assert answer.status == 400
    assert "There is no voice" in answer.error["message"]


def test_ssml_route_output_is_spoken_as_the_ssml(server: Server) -> None:
    ssml = (
        "<speak>Ha. <voice name='am_adam'>Bad dog.</voice> <break time='500ms'/> "
        "<prosody rate='120%'>A <phoneme ph='kab'>cab</phoneme>.</prosody> No.</speak>"
    )
    text = server.post("/dev/ssml", {"text": ssml, "voice": "af_heart"}).json["text"]
    assert text == (
        "Ha. [voice:am_adam] Bad dog. [voice:af_heart] [pause:0.5s] [rate:1.2]A [cab](/kab /).[rate:1] No."
    )
    assert server.expected(text) == server.expected(ssml)


@pytest.mark.parametrize("text", ["", "Ha <b>.", "<speaker>Ha</speaker>", "[pause:1s] a\n\n b"])
def test_ssml_route_returns_other_texts_unchanged(server: Server, text: str) -> None:
    assert server.post("/dev/ssml", {"text": text}).json == {"text": text}


def test_ssml_route_writes_no_voice_by_default(server: Server) -> None:
    text = "<speak>one <voice name='am_adam'>two</voice> <prosody rate='slow'>three</prosody></speak>"
    for body in ({"text": text}, {"text": text, "voice": ""}):
        assert server.post("/dev/ssml", body).json["text"] == "one two three"


@pytest.mark.parametrize(
    "text", ["<speak>a <b></speak>", "<speak>", "<!DOCTYPE speak [<!ENTITY a 'b'>]><speak>&a;</speak>"]
)
def test_ssml_route_refuses_invalid_ssml(server: Server, text: str) -> None:
    answer = server.post("/dev/ssml", {"text": text})
    assert answer.status == 400
    assert "SSML" in answer.error["message"]


def test_ssml_route_describes_supported_elements(server: Server) -> None:
    """Its fields; every element that it names is."""
    result = server.get("/dev/ssml").json
    assert list(result) == ["elements", "ignored", "break_strengths", "prosody_rates", "rate_range"]
    assert {"speak", "break", "voice", "prosody", "phoneme", "sub", "desc"} <= set(result["elements"])
    assert all(about.endswith(".") for about in result["elements"].values())
    assert not set(result["ignored"]) & set(result["elements"])
    for name in result["ignored"]:
        text = f"<speak>a <{name}>b</{name}> c</speak>"
        assert server.post("/dev/ssml", {"text": text}).json["text"] == "a b c"
    for strength, seconds in result["break_strengths"].items():
        text = f"<speak>a <break strength='{strength}'/>b</speak>"
        expected = f"a [pause:{seconds:g}s] b" if seconds else "a b"
        assert server.post("/dev/ssml", {"text": text}).json["text"] == expected
    for name, rate in result["prosody_rates"].items():
        text = f"<speak>a <prosody rate='{name}'>b</prosody></speak>"
        expected = f"a [rate:{rate:g}]b" if rate != 1 else "a b"
        assert server.post("/dev/ssml", {"text": text, "voice": "af_heart"}).json["text"] == expected
    low, high = result["rate_range"]
    for rate, status in ((low, 200), (high, 200), (low / 2, 400), (high * 2, 400)):
        text = f"<speak><prosody rate='{rate:g}'>b</prosody></speak>"
        assert server.post("/dev/ssml", {"text": text}).status == status


TURNS = [
    {"voice": "af_heart", "text": "A big bad dog ran home."},
    {"voice": "am_adam", "text": "Did it? "},
    {"voice": "am_adam", "text": " It did."},
]


def dialogue(server: Server, turns: Any = TURNS, **fields: Any) -> Any:
    return server.post("/dev/dialogue", {"turns": turns, "response_format": "pcm"} | fields)


def test_dialogue_speaks_turns_in_their_voices(server: Server) -> None:
    answer = dialogue(server)
    assert answer.status == 200
    assert answer.headers["content-type"] == "audio/pcm"
    expected = "A big bad dog ran home. [voice:am_adam] Did it? It did."
    assert answer.body == server.expected(expected)


def test_dialogue_accepts_aliases_of_fields(server: Server) -> None:
    body = {
        "inputs": [{"voice_id": turn["voice"], "text": turn["text"]} for turn in TURNS],
        "response_format": "pcm",
        "return_timing": False,
    }
    answer = server.post("/dev/dialogue", body)
    assert answer.body == dialogue(server).body
    assert answer.headers["x-unknown-fields"] == "return_timing"


def test_dialogue_pauses_between_turns(server: Server) -> None:
    expected = "A big bad dog ran home. [pause:0.35s][voice:am_adam] Did it? [pause:0.35s] It did."
    assert dialogue(server, pause_between_turns=0.35).body == server.expected(expected)


@pytest.mark.parametrize("leaves", ["Go. [rate:0.5] No.", "See [a](b", "[pause:1", "<speak>", "[a](b [c](d"])
def test_dialogue_isolates_turns(server: Server, leaves: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is spoken in its own voice and at its own rate, from its first word to its last."""
    scripts = []
    speak = Service.speak

    def kept(self: Service, wanted: SpeechRequest, *rest: Any) -> SpeechJob:
        scripts.append(wanted.input)
        return speak(self, wanted, *rest)

    monkeypatch.setattr(Service, "speak", kept)
    turns = [{"voice": "af_heart", "text": leaves}, {"voice": "bf_emma", "text": "Bad dog (a cab) ran."}]
    answer = dialogue(server, turns)
    assert answer.status == 200, answer.body
    plan = server.synthesizer.plan(scripts[0])
    words = [word for piece in plan.pieces if piece.voice == "bf_emma" for word in piece.words]
    assert [word.text for word in words if word.text.isalpha()] == ["Bad", "dog", "a", "cab", "ran"]
    assert {word.rate for word in words} == {1.0}


def test_dialogue_applies_fields_to_all_turns(server: Server) -> None:
    answer = dialogue(server, speed=2.0, seed=7, lang_code="b", return_download_link=True, stream=False)
    expected = "A big bad dog ran home. [voice:am_adam] Did it? It did."
    assert answer.body == server.expected(expected, speed=2.0, seed=7, language="b")
    assert server.get(f"/v1{answer.headers['x-download-path']}").body == answer.body


def test_dialogue_accepts_names_of_openai(server: Server) -> None:
    turns = [TURNS[0], {"voice": "echo", "text": "No."}]
    answer = dialogue(server, [TURNS[0], {"voice": "ash", "text": "No."}])
    assert answer.body == server.expected("A big bad dog ran home. [voice:am_adam] No.")
    assert dialogue(server, turns).status == 400  # the toy has no am_echo


@pytest.mark.parametrize(
    ("turns", "param", "message"),
    [
        ([], "turns", "`turns`: List should have at least 1 item"),
        ([{"voice": "af_heart"}], "turns[0].text", "`turns[0].text`: Field required."),
        ([{"voice": "af_heart", "text": ""}], "turns[0].text", "should have at least 1 character"),
        ([TURNS[0], {"voice": "nobody", "text": "Ha."}], "turns[1].voice", "There is no voice 'nobody'"),
        ([{"voice": "af_heart] [pause:1s", "text": "Ha."}], "turns[0].voice", "There is no voice"),
        ([{"voice": "af_heart", "text": "a" * 60_000}] * 2, "turns", "120000 characters together"),
        ([{"voice": "af_heart", "text": " "}], None, "There is nothing to speak"),
        ("Ha.", "turns", "should be a valid list"),
        (None, "turns", "`turns`: Field required."),
    ],
)
def test_dialogue_describes_invalid_fields(
    server: Server, turns: Any, param: str | None, message: str
) -> None:
    answer = dialogue(server, turns)
    assert answer.status == 400
    assert answer.error["param"] == param
    assert message in answer.error["message"]
