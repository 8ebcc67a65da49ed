"""axe-core on every state of the page, and its layout in narrow windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe import axe_script, in_every_state, violations
from browsing import TEXT, page_of, serving_slowly
from serving import Server

pytestmark = pytest.mark.slow("opens pages in Chromium")
VOICES = ("af_heart", "bf_emma")
# What is wrong with the boxes of the page as it is now.
FAULTS = """() => {
  const faults = [];
  const shown = element => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  if (document.documentElement.scrollWidth > innerWidth) faults.push("wider than the window");
  for (const element of [...document.querySelectorAll("body *")].filter(shown)) {
    const { right, left, width, height } = element.getBoundingClientRect();
    const name = element.outerHTML.slice(0, 70);
    const outside = right > innerWidth + 1 || left < -1;
    if (outside && !element.closest("svg, .hidden")) faults.push(`sticks out: ${name}`);
    const control = element.matches("button, summary, input:not([type=radio]), textarea");
    if (control && (width < 24 || height < 24)) faults.push(`too small: ${name}`);
  }
  return faults;
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving_slowly(tmp_path_factory.mktemp("served") / "toy") as running:
        yield running


@pytest.fixture(scope="session")
def script(shared_folder: Path) -> str:
    return axe_script(shared_folder)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1100])
def test_axe_reports_no_violation(browser: Any, server: Server, script: str, scheme: str, width: int) -> None:
    window = {"width": width, "height": 800}
    result = []
    with page_of(browser, server, color_scheme=scheme, viewport=window, reduced_motion="reduce") as page:
        page.open()
        for state in in_every_state(page, TEXT, VOICES):
            result += [f"{state}: {fault}" for fault in violations(page.tab, script)]
    assert result == []


def test_axe_reports_a_planted_violation(browser: Any, server: Server, script: str) -> None:
    with page_of(browser, server) as page:
        page.open()
        page.tab.evaluate(
            "document.getElementById('theme').ariaLabel = document.getElementById('theme').title = ''"
        )
        (result,) = violations(page.tab, script)
        assert result.startswith("button-name: ")


def test_axe_reports_no_violation_of_the_key_form(browser: Any, tmp_path: Path, script: str) -> None:
    with serving_slowly(tmp_path / "toy", api_key=["secret"]) as server, page_of(browser, server) as page:
        page.tab.goto(page.url)
        page.problem()
        assert violations(page.tab, script) == []


@pytest.mark.parametrize(("width", "factor", "size"), [(320, 1, "100%"), (640, 2, "100%"), (1280, 1, "200%")])
def test_page_fits_the_window(browser: Any, server: Server, width: int, factor: int, size: str) -> None:
    """Nothing sticks out, and everything can be reached; at 200 %, 1,280 by 720 pixels are 640 by 360.

    size: of its text.
    """
    window = {"width": width, "height": 360 * 2 // factor}
    faults = []
    with page_of(
        browser, server, viewport=window, device_scale_factor=factor, reduced_motion="reduce"
    ) as page:
        page.open()
        page.tab.evaluate("size => { document.documentElement.style.fontSize = size }", size)
        for state in in_every_state(page, TEXT, VOICES):
            faults += [f"{state}: {fault}" for fault in page.tab.evaluate(FAULTS)]
    assert faults == []
