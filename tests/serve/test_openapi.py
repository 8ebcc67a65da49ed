"""Requests that schemathesis makes of the OpenAPI document: every answer is one of it, none a fault."""

from __future__ import annotations

import logging
from collections import Counter

import pytest
import requests
import schemathesis
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


def test_hundreds_of_requests(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    assert {200, 400} <= set(fuzz(server, 300, caplog))


@pytest.mark.nightly
def test_twenty_thousand_requests_of_the_document(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    assert fuzz(server, 20_000, caplog).total() >= 20_000
