"""Every field of OpenAI's and of Kokoro-FastAPI's interface, over a socket."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from letters import read_letters
from serving import LONG, Answer, Server

from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.normalization import normalize
from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Utterance
from kokoro_tvm.serving.encoding.base import as_int16


def events(answer: Answer) -> list[Any]:
    assert answer.headers["content-type"] == "text/event-stream"
    blocks = answer.body.decode().split("\n\n")
    assert blocks.pop() == ""
    return [json.loads(block.removeprefix("data: ")) for block in blocks]


@pytest.mark.parametrize(
    ("voice", "meant"),
    [
        ({"id": "am_adam"}, "am_adam"),
        ("af_heart(2)+am_adam", "af_heart(2)+am_adam"),
        ("echo(2) + af_heart", "am_echo(2)+af_heart"),
    ],
)
def test_speech_accepts_every_form_of_a_voice(server: Server, voice: Any, meant: str) -> None:
    if "am_echo" in meant:
        assert "no voice 'am_echo'" in server.speak("Ha.", voice=voice).error["message"]
        return
    assert server.speak(LONG, voice=voice).body == server.expected(LONG, meant)


def test_speech_follows_seed_language_volume_and_markup(server: Server) -> None:
    text = "Dog. [pause:0.5s] [voice:am_adam] Cab. [rate:2] Ha."
    assert server.speak(text, seed=7).body == server.expected(text, seed=7)
    assert server.speak(LONG, lang_code="EN-gb").body == server.expected(LONG, language="b")
    assert server.speak(LONG, language="EN-gb").body == server.expected(LONG, language="en-gb")
    assert server.speak("<b>Ha.</b>", ssml=False).body == server.expected("<b>Ha.</b>", ssml=False)
    for brackets in ("Ha [pause: dramatic].", "<speak>Ha.</speak>"):
        assert server.speak(brackets, markup=False).body == server.expected(brackets, markup=False)
    cited = "Ha [3] dog. `cab` (Lee, 2020)"
    kinds = ["citations", "code"]
    assert server.speak(cited, omit=kinds).body == server.expected(cited, omit=kinds)
    assert server.speak(cited, omit=kinds).body == server.expected("Ha dog.")
    assert server.speak(cited, omit=["verse"]).status >= 400
    loud = np.frombuffer(server.speak("Ha.", volume_multiplier=0.01).body, "<i2")
    expected = as_int16(server.synthesizer("Ha.").audio * np.float32(0.01))
    assert loud.tobytes() == expected


def test_speech_names_ignored_fields(server: Server) -> None:
    options = {"url_normalization": False, "optional_pluralization_normalization": True}
    answer = server.speak("Ha.", instructions="Whisper.", normalization_options=options)
    plural = "normalization_options.optional_pluralization_normalization"
    assert answer.headers["x-ignored-fields"] == f"instructions, {plural}"
    assert answer.body == server.expected("Ha.")


_KINDS = {"5 km": "measure", "a@b.com": "mail", "www.b.com": "web", "555-0123": "phone", "#a": "tag"}
_FORMS = LanguageRules(
    {
        "lists": {},
        "types": {},
        "signs": {},
        "letters": "A-Za-z",
        "replacements": {},
        "numbers": {"decimal": ".", "decimals": "figures", "point": "", "joint": " ", "singular": "1",
                    "figures": list("abcdefghij")},
        "spellout": {"sets": {}, "names": {}},
        "rules": [
            {"kind": kind, "pattern": form.replace(".", "[.]"), "say": kind, "types": {}, "first": form[0]}
            for form, kind in _KINDS.items()
        ],
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("switch", "unread"),
    [
        ("normalize", "all"),
        ("unit_normalization", "units"),
        ("url_normalization", "web"),
        ("email_normalization", "mail"),
        ("phone_normalization", "phones"),
        ("replace_remaining_symbols", "signs"),
    ],
)
def test_normalization_options_leave_forms_unread(
    server: Server, monkeypatch: pytest.MonkeyPatch, switch: str, unread: str
) -> None:
    def read(source: SourceText, code: str, front_end: FrontEnd) -> list[Utterance]:
        return read_letters(normalize(source, _FORMS, unread=front_end.unread).source, code, front_end)

    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read)
    text = "A bid of 5 km, a@b.com, www.b.com, 555-0123, #a = 3."
    plain = server.speak(text).body
    assert server.speak(text, normalization_options={}).body == plain
    assert server.speak(text, normalization_options={switch: True}).body == plain
    answer = server.speak(text, normalization_options={switch: False})
    assert answer.body == server.expected(text, unread=(unread,)) != plain
    assert "x-ignored-fields" not in answer.headers


def test_null_fields_have_their_defaults(server: Server) -> None:
    assert server.speak("Ha.", speed=None, voice=None, lang_code=None).body == server.expected("Ha.")


def test_speech_without_streaming_has_a_length(server: Server) -> None:
    answer = server.speak(LONG, stream=False)
    assert answer.body == server.expected(LONG)
    assert int(answer.headers["content-length"]) == len(answer.body)


def test_server_sent_events_have_audio_words_and_usage(server: Server) -> None:
    result = events(server.speak(LONG, stream_format="sse"))
    kinds = [event["type"] for event in result]
    assert kinds[:2] == ["speech.audio.words", "speech.audio.delta"]
    assert kinds[-1] == "speech.audio.done"
    audio = b"".join(base64.b64decode(e["audio"]) for e in result if e["type"] == "speech.audio.delta")
    speech = server.synthesizer(LONG)
    assert audio == as_int16(speech.audio)
    words = [word for e in result if e["type"] == "speech.audio.words" for word in e["words"]]
    assert words == [
        {
            "word": w.text,
            "start_time": round(w.start, 6),
            "end_time": round(w.end, 6),
            "source": list(w.source),
        }
        for w in speech.words
    ]
    usage = result[-1]["usage"]
    assert usage["output_tokens"] == int(speech.durations.sum())
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


@pytest.mark.parametrize("route", ["/v1/audio/speech", "/dev/captioned_speech"])
def test_words_have_source_positions(server: Server, route: str) -> None:
    """In code points, after characters above U+FFFF and after markup."""
    text = "A 😀 [pause:1s] bad [dog](/kab/)\n\n[voice:am_adam] ran."
    body = {"input": text, "response_format": "pcm", "stream_format": "sse"}
    answer = server.post(route, body)
    if route == "/v1/audio/speech":
        words = [word for event in events(answer) for word in event.get("words", ())]
    else:
        words = [word for line in answer.body.splitlines() for word in json.loads(line)["timestamps"]]
    assert [text[slice(*word["source"])] for word in words] == [word["word"] for word in words]
    assert [word["word"] for word in words] == ["A", "bad", "dog", "ran"]


def test_captions_are_lines_of_json(server: Server) -> None:
    body = {"input": LONG, "response_format": "pcm"}
    lines = [json.loads(line) for line in server.post("/dev/captioned_speech", body).body.splitlines()]
    speech = server.synthesizer(LONG)
    assert len(lines) == len(server.synthesizer.plan(LONG).pieces)
    assert b"".join(base64.b64decode(line["audio"]) for line in lines) == as_int16(speech.audio)
    assert [word["word"] for line in lines for word in line["timestamps"]] == [w.text for w in speech.words]
    assert {line["audio_format"].split(";")[0] for line in lines} == {"audio/pcm"}
    whole = server.post("/dev/captioned_speech", body | {"stream": False, "return_timestamps": False}).json
    assert base64.b64decode(whole["audio"]) == as_int16(speech.audio)
    assert whole["timestamps"] is None


def test_phonemize_output_is_spoken_by_generate_from_phonemes(server: Server) -> None:
    result = server.post("/dev/phonemize", {"text": "Bad dog. [pause:1s] A cab.", "language": "a"}).json
    assert result["phonemes"] == "bad dog.\na cab."
    assert result["tokens"][0] == result["tokens"][-1] == 0
    body = {"phonemes": result["phonemes"], "response_format": "pcm", "speed": 1.5}
    spoken = server.post("/dev/generate_from_phonemes", body)
    expected = server.synthesizer.from_phonemes(["bad dog.", "a cab."], speed=1.5)
    assert spoken.body == as_int16(expected.audio)


@pytest.mark.parametrize("voices", ["af_heart(3)+am_adam", ["af_heart(3)", "am_adam"]])
def test_combine_returns_a_torch_file(server: Server, voices: Any, tmp_path: Path) -> None:
    answer = server.post("/v1/audio/voices/combine", {"voices": voices})
    table = server.synthesizer.voices.table("af_heart(3)+am_adam")
    assert answer.headers["content-disposition"] == "attachment; filename=voice.pt"
    (tmp_path / "voice.pt").write_bytes(answer.body)
    for options in ({"weights_only": True}, {"mmap": True}):
        loaded = torch.load(tmp_path / "voice.pt", **options)
        assert loaded.shape == (510, 1, table.shape[1])
        assert loaded.dtype == torch.float32
        assert not loaded.requires_grad
        assert np.array_equal(loaded[:, 0].numpy(), table)
        assert np.array_equal(loaded[3].numpy(), table[3:4])
    assert server.post("/v1/audio/voices/combine", {"voices": voices}).body == answer.body


def test_lists_have_the_form_of_open_webui(server: Server) -> None:
    voices = server.get("/v1/audio/voices").json["voices"]
    assert voices[0] == {
        "id": "af_heart",
        "name": "af_heart",
        "language": "American English",
        "gender": "female",
    }
    assert server.get("/v1/audio/voices?legacy=true").json["voices"][0] == "af_heart"
    assert {"id": "toy"} in server.get("/v1/audio/models").json["models"]
    assert server.get("/v1/models/tts-1").json["id"] == "tts-1"
    assert server.get("/v1/models/nothing").error["code"] == "model_not_found"


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({}, "input", "`input`: Field required."),
        ({"input": ""}, "input", "`input`: String should have at least 1 character, but is ''."),
        ({"input": 5}, "input", "`input`: Input should be a valid string, but is 5."),
        ({"input": "a", "speed": True}, "speed", "`speed`: Input should be a valid number, but is true."),
        (
            {"input": "a", "speed": 10**400},
            "speed",
            "`speed`: Input should be a valid number, but is a very large number.",
        ),
        (
            {"input": "a", "voice": ["a"]},
            "voice",
            "`voice`: Input should be a string or an object with `id`, but is a list.",
        ),
        (
            {"input": "a", "voice": {"id": 1}},
            "voice.id",
            "`voice.id`: Input should be a valid string, but is 1.",
        ),
        ({"input": "a", "voice": {}}, "voice.id", "`voice.id`: Field required."),
        (
            {"input": "a", "response_format": "exe"},
            "response_format",
            "`response_format`: Input should be 'mp3', 'opus'",
        ),
        (
            {"input": "a", "lang_code": "xx"},
            "language",
            "There is no language 'xx'. ",
        ),
        (
            {"input": "a", "seed": 2**64},
            "seed",
            "`seed`: Input should be less than or equal to 18446744073709551615, but is",
        ),
        ({"input": "a", "seed": 1.5}, "seed", "`seed`: Input should be a valid integer, but is 1.5."),
        (
            {"input": "a", "stream": "yes"},
            "stream",
            "`stream`: Input should be a valid boolean, but is 'yes'.",
        ),
        (
            {"input": "a", "normalization_options": {"normalize": 3}},
            "normalization_options.normalize",
            "`normalization_options.normalize`: Input should be a valid boolean",
        ),
        (
            {"input": "a\ud800"},
            "input",
            "`input`: Input should be a valid string, unable to parse raw data as a unicode",
        ),
        ([], None, "The body: Input should be a JSON object, but is a list."),
        (b"{", None, "The body is not JSON: Expecting property name"),
        (b'{"input": "a", "speed": NaN}', None, "The body is not JSON: NaN is no number."),
        (b'"\xff"', None, "The body is not JSON: it is not UTF-8"),
        (b"[" * 100_000, None, "The body is not JSON: it is not UTF-8, or nested too deep."),
        (b'{"a":' * 20 + b"1" + b"}" * 20, None, "The body is nested more than 16 deep."),
    ],
)
def test_invalid_fields_are_described(server: Server, body: Any, param: str | None, message: str) -> None:
    answer = server.post("/v1/audio/speech", body)
    assert answer.status == 400
    assert answer.error["message"].startswith(message)
    assert answer.error["param"] == param
    assert answer.error["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("...", "There is nothing to speak"),
        ("Ha. [pause:9h]", "The text has a mistake in line 1, column 5"),
        ("Ha. [pause:900s] Ha.", "A pause lasts longer than 300 s."),
        ("[voice:../../etc/passwd] Ha.", "The text has a mistake in line 1, column 1: There is no voice"),
    ],
)
def test_invalid_texts_are_refused(server: Server, text: str, message: str) -> None:
    answer = server.speak(text, response_format="wav")
    assert answer.status == 400
    assert answer.error["message"].startswith(message)


def test_too_long_speech_is_refused(server: Server) -> None:
    answer = server.speak("[pause:299s] Ha. " * 130, response_format="wav")
    assert answer.status == 400
    assert answer.error["message"].startswith("The speech lasts longer than 36000 s.")


def test_lexicon_is_passed_on(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[Any] = []
    stream = server.synthesizer.stream

    def observed(*arguments: Any, **options: Any) -> Any:
        requested.append(options["lexicon"])
        return stream(*arguments, **options)

    monkeypatch.setattr(server.synthesizer, "stream", observed)
    assert server.speak("A cab.", lexicon={"cab": "dad"}).status == 200
    assert server.speak("A cab.").status == 200
    assert requested == [{"cab": "dad"}, None]
    refused = server.speak("A cab.", lexicon={"cab": "%"})
    assert (refused.status, "mistake at 'cab'" in refused.error["message"]) == (400, True)
