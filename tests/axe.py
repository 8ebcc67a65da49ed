"""axe-core, which looks for what keeps people from using a page: of the npm registry, for the tests alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from sharing import once
from watched_pages import Page

from kokoro_tvm.model.pins import check_sha256
from kokoro_tvm.model.sources.material import SourceUnavailableError
from kokoro_tvm.model.sources.npm import extract, pack

__all__ = ["axe_script", "in_every_state", "violations"]

VERSION = "4.14.1"
SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
_FILE = PurePosixPath("package/axe.min.js")
_MOST_BYTES = 1 << 20


def axe_script(folder: Path) -> str:
    """The script, fetched into a folder that all workers share; skips the test without a registry."""
    path = folder / f"axe-core-{VERSION}" / _FILE.name
    with once(folder / "axe-core") as first:
        if first:
            path.parent.mkdir()
            try:
                archive = pack("axe-core", VERSION, path.parent, lambda line: None)
            except SourceUnavailableError:
                archive = None
            if archive is not None:
                extract(archive, path.parent, _FILE.__eq__, _MOST_BYTES)
    if not path.exists():
        pytest.skip("axe-core is not here: the command `npm` or its registry does not answer")
    check_sha256(path, SHA256, f"{_FILE} of axe-core@{VERSION}")
    return path.read_text(encoding="utf-8")


def violations(tab: Any, script: str) -> list[str]:
    """What axe finds in a page as it is now, all of its rules, those of best practice included."""
    if not tab.evaluate("'axe' in window"):
        tab.evaluate(script)
    found = tab.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)"
    )
    return [
        f"{rule['id']}: {node['html'][:90]}: {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
    ]


def in_every_state(
    page: Page, text: str, voices: tuple[str, str], foreign: str = "Hola, soy yo. ¿Cómo está usted?"
) -> Iterator[str]:
    """Take an opened page through its states, and name each.

    Args:
        page: The page.
        text: Spoken in several states.
        voices: Two of different languages.
        foreign: A text in another language that the page has a voice for; "": it has none.
    """
    tab = page.tab
    yield "no text"
    if foreign:
        tab.fill("#text", foreign)
        tab.wait_for_selector("#suggestion:visible")
        yield "a suggestion"
    tab.fill("#text", f"{text} 世界")
    tab.click("#options summary")
    yield "typing"
    tab.click("#voice-panel summary")
    yield "voices open"
    tab.fill("#find", voices[1].partition("_")[2])
    yield "a voice found"
    tab.fill("#find", "nobody")
    yield "no voice found"
    tab.fill("#find", "")
    tab.check(f"#voice-{voices[0]}", force=True)
    tab.click(f"[data-add={voices[1]}]")
    tab.wait_for_selector("#language:visible")
    yield "a mix of two languages"
    tab.set_input_files("#file", {"name": "a.bin", "mimeType": "", "buffer": b"\0"})
    tab.wait_for_selector("#problem:visible")
    yield "a problem"
    tab.click("#play")
    page.state("speaking")
    yield "speaking"
    tab.wait_for_selector("#notices:visible")
    yield "a notice"
    page.state("ended")
    tab.click("#spectrogram-panel summary")
    tab.click("#past summary")
    yield "spectrogram and history open"
