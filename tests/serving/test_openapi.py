"""The OpenAPI document, and responses to requests that schemathesis generates from it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import requests
import schemathesis
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from serving import Server

KINDS = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
REFUSED = {"checks": {"negative_data_rejection": {"expected-statuses": [400, 404, 413]}}}
# That a value has the type it should have does not make it a voice, SSML or phonemes that there are.
NOT_IN_THE_DOCUMENT = [schemathesis.checks.positive_data_acceptance]


def fuzz(server: Server, count: int, caplog: pytest.LogCaptureFixture) -> Counter[int]:
    """How often each status was the answer to some requests, half of which break the document's rules."""
    config = schemathesis.Config.from_dict(REFUSED)
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json", config=config)
    cases = st.one_of(*(schema.as_strategy(generation_mode=kind) for kind in KINDS))
    statuses: Counter[int] = Counter()
    with requests.Session() as session:

        @given(case=cases)
        @settings(max_examples=count)
        def request(case: Case) -> None:
            answer = case.call_and_validate(session=session, timeout=300, excluded_checks=NOT_IN_THE_DOCUMENT)
            statuses[answer.status_code] += 1
            assert b"Traceback" not in answer.content or "Traceback" in repr(case.body)

        request()
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert server.speak("Ha.").status == 200
    return statuses


def bounds(server: Server) -> Iterator[tuple[str, str, int]]:
    """(path, field, the most characters) of every route that takes a text."""
    for path, field in (
        ("/v1/audio/speech", "input"),
        ("/dev/captioned_speech", "input"),
        ("/dev/generate_from_phonemes", "phonemes"),
        ("/dev/phonemize", "text"),
    ):
        yield path, field, server.schema(path)["properties"][field]["maxLength"]


def test_document_follows_the_settings(start: Callable[..., Server]) -> None:
    """The documented lengths are those that routes accept."""
    server = start(max_characters=30, max_phonemize_characters=20)
    assert [most for _, _, most in bounds(server)] == [30, 30, 30, 20]
    assert b"string of up to 30 characters" in server.get("/docs").body
    for path, field, most in bounds(server):
        assert server.post(path, {field: "a" * most}).status == 200
        refused = server.post(path, {field: "a" * (most + 1)})
        assert refused.status == 400
        assert refused.error["code"] == "string_above_max_length"
        assert f"`{field}`: String should have at most {most} characters" in refused.error["message"]


def test_responses_conform_to_the_document(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    assert {200, 400} <= set(fuzz(server, examples(300), caplog))


@pytest.mark.nightly
def test_responses_to_many_requests_conform_to_the_document(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    assert fuzz(server, 20_000, caplog).total() >= 20_000
