"""A stored site: offline use, installation, and versions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import chromium
from elsewhere import obstacle
from hosting import Host

from kokoro_tvm.publish import site as site_module
from kokoro_tvm.publish.site import write_site
from kokoro_tvm.web import WEB, page_files

pytestmark = [
    pytest.mark.slow("opens pages in Chromium"),
    pytest.mark.skipif(obstacle("wasm") is not None, reason=str(obstacle("wasm"))),
]
READY = "#play:enabled"
LOADING_S = 120_000  # milliseconds
KEPT = "navigator.serviceWorker.ready.then(({ active }) => active.state)"


@pytest.fixture
def context() -> Iterator[Any]:
    with chromium() as browser:
        opened = browser.new_context()
        opened.set_default_timeout(LOADING_S)
        yield opened


@pytest.fixture
def host(site_folder: Path, tmp_path: Path) -> Host:
    return Host(shutil.copytree(site_folder, tmp_path / "site"))


def visit(context: Any, host: Host) -> Any:
    tab = context.new_page()
    tab.goto(host.address)
    tab.wait_for_selector(READY)
    tab.evaluate(KEPT)
    return tab


def put_another_version(host: Host, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the site on the host by one with another title and another lazy module."""
    web = Path(shutil.copytree(WEB, tmp_path / "web"))
    index = web / "index.html"
    index.write_text(index.read_text("utf-8").replace("<title>Kokoro<", "<title>Another<"), "utf-8")
    (web / "wav.js").write_text(
        f"{(web / 'wav.js').read_text('utf-8')}\nexport const another = true;\n", "utf-8"
    )
    monkeypatch.setattr(site_module, "WEB", web)
    monkeypatch.setattr(
        site_module, "page_files", lambda: [web / path.relative_to(WEB) for path in page_files()]
    )
    write_site(bundle, host.folder)


LATER = "import('./wav.js').then(({ another }) => another ?? false)"


def test_page_opens_offline(context: Any, host: Host) -> None:
    with host.running():
        tab = visit(context, host)
        assert not tab.evaluate("crossOriginIsolated"), "the host sends no headers"
        address = host.address
    tab.goto(address)  # where nothing answers any more
    tab.wait_for_selector(READY)
    assert tab.evaluate("crossOriginIsolated"), "what is kept has the headers that threads need"
    tab.goto(f"{address}/index.html#t=Hello")
    tab.wait_for_selector(READY)


def test_page_is_installable(context: Any, host: Host) -> None:
    with host.running():
        tab = visit(context, host)
        session = context.new_cdp_session(tab)
        manifest = session.send("Page.getAppManifest")
        assert manifest["errors"] == []
        assert manifest["url"] == f"{host.address}/manifest.webmanifest"
        errors = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
        assert [error["errorId"] for error in errors if error["errorId"] != "in-incognito"] == []
        icons = tab.evaluate(
            """async () => {
              const { icons } = await (await fetch("./manifest.webmanifest")).json();
              return Promise.all(icons.map(async ({ src, sizes, type }) => {
                const image = new Image();
                image.src = src;
                await image.decode();
                return type === "image/svg+xml" || `${image.naturalWidth}x${image.naturalHeight}` === sizes;
              }));
            }"""
        )
        assert icons == [True] * 4


def test_new_version_starts_at_the_next_visit(
    context: Any, host: Host, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with host.running():
        tab = visit(context, host)
        tab.reload()
        tab.wait_for_selector(READY)
        put_another_version(host, bundle, tmp_path, monkeypatch)
        tab.reload()
        tab.wait_for_selector(READY)
        assert (tab.title(), tab.evaluate(LATER)) == ("Kokoro", False)
        tab.wait_for_function("navigator.serviceWorker.ready.then(({ waiting }) => Boolean(waiting))")
        other = context.new_page()  # with two tabs open, neither gets files of another version
        other.goto(host.address)
        other.wait_for_selector(READY)
        assert (other.title(), other.evaluate(LATER)) == ("Kokoro", False)
        other.close()
        tab.reload()
        tab.wait_for_function("document.title === 'Another'")
        tab.wait_for_selector(READY)
        assert tab.evaluate(LATER) is True
        names = [name for name in tab.evaluate("caches.keys()") if name.startswith("kokoro-tvm-site")]
        assert len(names) == 1


def test_incomplete_version_is_not_installed(
    context: Any, host: Host, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with host.running():
        tab = visit(context, host)
        put_another_version(host, bundle, tmp_path, monkeypatch)
        shutil.copyfile(WEB / "wav.js", host.folder / "wav.js")
        tab.reload()
        ended = """async () => {
          const registration = await navigator.serviceWorker.ready;
          const update = await registration.update().catch(() => registration);
          const { installing } = update;
          if (!installing) return "none";
          return new Promise((done) =>
            installing.addEventListener("statechange", () => done(installing.state)));
        }"""
        assert tab.evaluate(ended) in {"redundant", "none"}
        tab.reload()
        tab.wait_for_selector(READY)
        assert tab.title() == "Kokoro"
