"""Whatever is sent, the answer is one of the interface, and the server goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import Server

from kokoro_tvm.serve.fields import fields
from kokoro_tvm.serve.requests import (
    CaptionedRequest,
    CombineRequest,
    DialogueRequest,
    PhonemesRequest,
    PhonemizeRequest,
    SpeechRequest,
    SsmlRequest,
)
from kokoro_tvm.serve.settings import Settings

ROUTES = {
    "/v1/audio/speech": SpeechRequest,
    "/dev/captioned_speech": CaptionedRequest,
    "/dev/phonemize": PhonemizeRequest,
    "/dev/generate_from_phonemes": PhonemesRequest,
    "/dev/ssml": SsmlRequest,
    "/dev/dialogue": DialogueRequest,
    "/v1/audio/voices/combine": CombineRequest,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "Bad dog.",
            "[pause:1s] Ha.",
            "[voice:am_adam] Ha. [voice:]",
            "[voice:/etc/passwd]",
            "[a](/b/)",
            "<speak>Ha.<break time='1s'/></speak>",
            "<speak><!DOCTYPE a [<!ENTITY b 'c'>]>&b;</speak>",
            "<speak>",
        ]
    ),
)


def of_schema(schema: Any) -> st.SearchStrategy[Any]:
    """Values that a JSON schema allows."""
    for choices in ("oneOf", "anyOf"):
        if choices in schema:
            return st.one_of(*map(of_schema, schema[choices]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema["type"]
    if kind == "object":
        return st.fixed_dictionaries({}, optional={n: of_schema(s) for n, s in schema["properties"].items()})
    if kind == "array":
        return st.lists(of_schema(schema["items"]), max_size=4)
    if kind == "string":
        return TEXTS | st.sampled_from(["af_heart", "am_adam(2)+af_heart", "../x", "tts-1", "a\r\nb: c"])
    if kind == "null":
        return st.none()
    if kind == "boolean":
        return st.booleans()
    numbers = st.integers if kind == "integer" else st.floats
    return numbers(schema["minimum"], schema["maximum"])


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, bytes, dict[str, str]]:
    """(path, body, headers); most fields are what they may be."""
    path = draw(st.sampled_from(sorted(ROUTES)))
    body: Any = {}
    for field in fields(ROUTES[path], Settings()):
        if field.required or draw(st.integers(0, 3)) == 0:
            odd = draw(st.integers(0, 7)) == 0
            body[field.name] = draw(JSON if odd else of_schema(field.kind.schema))
    if draw(st.integers(0, 9)) == 0:
        body = draw(JSON)
    data = json.dumps(body).encode()
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(data)))
        data = data[:place] + draw(st.binary(max_size=4)) + data[place + 1 :]
    header = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
    return path, data, {"Authorization": draw(header), "Content-Type": draw(header)}


def check(server: Server, sent: tuple[str, bytes, dict[str, str]]) -> None:
    path, data, headers = sent
    answer = server.post(path, data, headers)
    assert answer.status in (200, 400), answer
    if answer.status == 400:
        assert set(answer.error) == {"message", "type", "param", "code"}
        assert "Traceback" not in answer.error["message"]
    else:
        assert answer.headers["x-request-id"]


@given(sent=requests())
@settings(max_examples=150)
def test_any_request(server: Server, sent: tuple[str, bytes, dict[str, str]]) -> None:
    check(server, sent)


@pytest.mark.nightly
@given(sent=requests())
@settings(max_examples=20_000)
def test_twenty_thousand_requests(server: Server, sent: tuple[str, bytes, dict[str, str]]) -> None:
    check(server, sent)
