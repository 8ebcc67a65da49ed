"""The page in a browser: light and dark, wide and narrow. Skipped without Chromium."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from axe import axe_script, violations

pytestmark = pytest.mark.slow("opens pages in Chromium")


def shown(browser: Any, page: Path, folder: Path, scheme: str, width: int) -> dict[str, Any]:
    """Return the screenshot, colours, overflowing elements and errors in a window of this width."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, offline=True)
    tab, wrong = context.new_page(), []
    tab.on("console", lambda message: wrong.append(message.text))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("requestfailed", lambda request: wrong.append(request.url[:80]))
    tab.goto(page.as_uri())
    tab.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    folder = Path(os.environ.get("SCREENSHOTS", folder))
    tab.screenshot(path=folder / f"{scheme}-{width}.png", full_page=True)
    measured = tab.evaluate(
        """async () => {
            const all = words => [...document.querySelectorAll(words)];
            const box = e => e.getBoundingClientRect();
            const loaded = all('img').map(i => i.decode().then(() => i.naturalWidth > 0, () => false));
            const heard = all('audio').map(a => new Promise(done => {
                a.onloadedmetadata = () => done(a.duration);
                a.onerror = () => done(0);
                a.preload = 'metadata';
                a.load();
            }));
            const style = getComputedStyle(document.body);
            const wide = e => !e.closest('.scroll, svg') && box(e).right > window.innerWidth + 1;
            return {
                back: style.backgroundColor, ink: style.color,
                width: document.documentElement.scrollWidth,
                sticking: all('body *').filter(wide).map(e => e.outerHTML.slice(0, 80)),
                images: await Promise.all(loaded), seconds: await Promise.all(heard),
                drawn: all('polygon, polyline').map(e => box(e).width),
            };
        }"""
    )
    context.close()
    return measured | {"wrong": wrong, "picture": folder / f"{scheme}-{width}.png"}


@pytest.mark.parametrize("width", [375, 1280])
def test_page_fits_the_window_in_light_and_dark(browser: Any, page: Path, tmp_path: Path, width: int) -> None:
    light, dark = (shown(browser, page, tmp_path, scheme, width) for scheme in ("light", "dark"))
    for result in (light, dark):
        assert result["wrong"] == []
        assert result["width"] <= width
        assert result["sticking"] == []
        assert result["images"] == [True] * 6
        assert result["seconds"] == pytest.approx([1.0] * 4)
        assert result["drawn"] and all(result["drawn"])
        assert result["picture"].stat().st_size > 20_000
    assert brightness(light["back"]) > 200 > 60 > brightness(dark["back"])
    assert brightness(light["ink"]) < 60 < 200 < brightness(dark["ink"])
    assert light["picture"].read_bytes() != dark["picture"].read_bytes()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_reports_no_violation(browser: Any, page: Path, shared_folder: Path, scheme: str) -> None:
    script = axe_script(shared_folder)
    context = browser.new_context(color_scheme=scheme, viewport={"width": 375, "height": 800})
    tab = context.new_page()
    tab.goto(page.as_uri())
    closed = violations(tab, script)
    tab.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    opened = violations(tab, script)
    context.close()
    assert (closed, opened) == ([], [])


def brightness(color: str) -> float:
    """Return the brightness, 0 to 255, of a colour such as `rgb(251, 250, 247)`."""
    return sum(map(int, color.removeprefix("rgb(").removesuffix(")").split(","))) / 3
