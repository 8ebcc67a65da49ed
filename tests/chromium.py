"""The Chromium that tests of pages drive."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def chromium(*switches: str) -> Iterator[Any]:
    """The browser named by CHROMIUM, or one that is installed; skips the test where there is none."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no Chromium here: none of {', '.join(NAMES)} is installed, CHROMIUM names none")
    from playwright.sync_api import sync_playwright  # of [test-slow]

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", *switches])
        yield opened
        opened.close()
