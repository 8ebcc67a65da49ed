"""Files of the page: content, headers and paths."""

from __future__ import annotations

import re

import pytest
from serving import Server

from kokoro_tvm.serving.routes.page import POLICY
from kokoro_tvm.web import WEB, page_files

FILES = [path.relative_to(WEB).as_posix() for path in page_files() if path.suffix != ".html"]


def folder_of(server: Server) -> str:
    """Return the folder of the page's files on a server, which is named by their content."""
    (folder,) = set(re.findall(r'"\./([0-9a-f]{16})/', server.get("/").body.decode()))
    return str(folder)


def test_page_is_served_at_the_root(server: Server) -> None:
    answer = server.get("/")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/html")
    body = answer.body.decode().replace(f"./{folder_of(server)}/", "./")
    assert body == (WEB / "index.html").read_text(encoding="utf-8")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY and "*" not in POLICY and POLICY.startswith("default-src 'none'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", FILES)
def test_page_files_are_served_unchanged(server: Server, path: str) -> None:
    answer = server.get(f"/{folder_of(server)}/{path}")
    assert answer.status == 200
    assert "immutable" in answer.headers["cache-control"]
    assert answer.body == (WEB / path).read_bytes()
    kind = {"js": "javascript", "css": "css", "svg": "svg"}[path.rpartition(".")[2]]
    assert kind in answer.headers["content-type"]


def test_page_files_refer_to_served_files() -> None:
    """Modules, styles and pictures that the page names exist, and are of this server."""
    for path in ("index.html", *FILES):
        text = (WEB / path).read_text(encoding="utf-8")
        asked = re.findall(r"""(?:\bfrom |\bimport |import\(|href=|src=|new URL\()["']([^"'#$]+)["']""", text)
        for reference in asked:
            if not reference.startswith(("http://www.w3.org/", "node:")):  # node: what Node alone imports
                assert reference.startswith((".", "worklet.js")), f"{path}: {reference}"
                assert ((WEB / path).parent / reference).is_file(), f"{path}: {reference}"
