"""Driver of the page in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from serving import GatedRunner, Server, serving
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from watched_pages import CAPTURE, TEXT, Page, places_of

from kokoro_tvm.serving.routes import page
from kokoro_tvm.serving.routes.page import routes

__all__ = ["TEXT", "Page", "page_of", "places_of", "serving_slowly", "spoken_by"]

SLOWER = 12  # times slower than the other toys


class SlowSpeaker(GatedRunner):
    """Speaks so slowly that a word can be seen."""

    def duration(self, d_en: np.ndarray, style: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        frames, features = super().duration(d_en, style)
        return SLOWER * frames, features


@contextmanager
def serving_slowly(folder: Path, **settings: Any) -> Iterator[Server]:
    """A server whose words can be seen while they are heard, and which has the module that keeps the sound:
    what worklets load goes past the browser's ways to put something in its place."""

    async def capture(request: Request) -> Response:
        return Response(CAPTURE, media_type="text/javascript")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("serving.GatedRunner", SlowSpeaker)
        patch.setattr(page, "routes", lambda: [*routes(), Route("/capture.js", capture)])
        with serving(folder, **settings) as server:
            yield server


@contextmanager
def page_of(browser: Any, server: Server, **context: Any) -> Iterator[Page]:
    """Open the page of a server in a new window, and check it at the end."""
    made = browser.new_context(**context)
    try:
        page = Page(made.new_page(), server.url)
        yield page
        page.check()
    finally:
        made.close()


def spoken_by(server: Server, text: str, **fields: Any) -> NDArray[np.float32]:
    """The samples that the server sends for a text."""
    answer = server.speak(text, **fields)
    assert answer.status == 200, answer.body
    return np.frombuffer(answer.body, "<i2").astype(np.float32) / 32768
