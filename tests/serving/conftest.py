"""A server of a toy bundle for the tests of a file, and one for a single test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browsing import Page, page_of
from letters import read_letters
from serving import Server, serving


@pytest.fixture(scope="module", autouse=True)
def letters() -> Iterator[None]:
    """Letters are their own phonemes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)
        patch.setattr("kokoro_tvm.runtime.text.reading.phonemize_text", read_letters)
        yield


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that the tests of a file share."""
    with serving(tmp_path_factory.mktemp("served") / "toy") as running:
        yield running


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start servers with settings of a test."""
    with ExitStack() as stack:

        def started(**settings: Any) -> Server:
            folder = tmp_path / f"bundle-{len(list(tmp_path.iterdir()))}"
            return stack.enter_context(serving(folder, **settings))

        yield started


@pytest.fixture
def page(browser: Any, server: Server) -> Iterator[Page]:
    """The page of the server, opened."""
    with page_of(browser, server) as opened:
        yield opened.open()
