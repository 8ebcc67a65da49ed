"""axe-core on the page of a site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe import axe_script, in_every_state, violations
from elsewhere import obstacle
from watched_pages import Page

pytestmark = [
    pytest.mark.slow("opens pages in Chromium"),
    pytest.mark.skipif(obstacle("wasm") is not None, reason=str(obstacle("wasm"))),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_has_no_accessibility_violation(
    browser: Any, site: str, shared_folder: Path, scheme: str
) -> None:
    script = axe_script(shared_folder)
    window = {"width": 390, "height": 844}
    context = browser.new_context(color_scheme=scheme, viewport=window, reduced_motion="reduce")
    page = Page(context.new_page(), site, is_heard=False).open()
    voices = page.tab.eval_on_selector_all(".voice", "voices => voices.map(voice => voice.dataset.name)")
    pair = next(name for name in voices if name[0] == "a"), next(name for name in voices if name[0] == "b")
    found = []
    for state in in_every_state(page, "He ran home. She sat down.", pair, foreign=""):
        found += [f"{state}: {fault}" for fault in violations(page.tab, script)]
    languages = page.tab.eval_on_selector_all(
        "#language option", "options => options.map(({ value }) => value)"
    )
    context.close()
    assert languages == ["a", "b"]
    assert found == []


def test_file_opens_without_a_server(browser: Any, site: str) -> None:
    tab = browser.new_page()
    tab.goto(site)
    tab.wait_for_selector("#play:enabled")
    tab.set_input_files("#file", {"name": "a.html", "mimeType": "", "buffer": b"<p>He <b>ran</b><p>home."})
    tab.wait_for_function("document.getElementById('text').value === 'He ran\\n\\nhome.'")
    tab.close()
