"""A fine-tune on the hub, its configuration beside its weights: by the hub's client, from a server here."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from tiny_model import REVISION, VOICES, nested, sha256

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.checkpoint import fetch
from kokoro_tvm.recipe.checkpoint import Checkpoint

CONFIG = b'{"vocab": {"a": 1}, "n_token": 7}'
PREFIX = f"/owner/name/resolve/{REVISION}/"


@dataclass
class Hub:
    """files: of the repository at its commit; requests: METHOD PATH of all that came; breaks: a file that
    ends early."""

    files: dict[str, bytes]
    requests: list[str] = field(default_factory=list)
    breaks: str = ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, hub: Hub, *arguments: Any) -> None:
        self.hub = hub
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self.hub.requests.append(f"{self.command} {self.path}")
        name = self.path.removeprefix(PREFIX)
        content = self.hub.files.get(name) if self.path.startswith(PREFIX) else None
        self.send_response(200 if content is not None else 404)
        if content is None:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Length", str(len(content or b"")))
        self.send_header("X-Repo-Commit", REVISION)
        self.send_header("ETag", f'"{hashlib.sha1(content or b"").hexdigest()}"')
        self.end_headers()
        if self.command == "GET" and content is not None:
            self.wfile.write(content[: len(content) // 2] if name == self.hub.breaks else content)
            self.close_connection = name == self.hub.breaks

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def hub(home: Path, tiny: dict[str, torch.Tensor], monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    torch.save(nested(tiny), home / "model.pth")
    voices = {f"voices/{path.name}": path.read_bytes() for path in (home / "voices").iterdir()}
    hub = Hub({"model.pth": (home / "model.pth").read_bytes(), "config.json": CONFIG, **voices})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, hub)) as server:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(constants, "ENDPOINT", endpoint)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        )
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield hub
        finally:
            server.shutdown()


@pytest.fixture
def fetched(hub: Hub, tmp_path: Path) -> Callable[..., Path]:
    """Fetches it as a recipe pins it, but for what is given."""

    def run(config: bytes = CONFIG, weights: bytes = hub.files["model.pth"]) -> Path:
        source = {
            "kind": "huggingface",
            "repo": "owner/name",
            "revision": REVISION,
            "weights": {"file": "model.pth", "sha256": sha256(weights)},
        }
        pinned = {"file": "config.json", "sha256": sha256(config)}
        out = tmp_path / "out"
        out.mkdir()
        fetch(Checkpoint.model_validate({"config": pinned, "voices": VOICES, "sources": (source,)}), out)
        return out

    return run


def test_hub_source_downloads_the_configuration(hub: Hub, fetched: Callable[..., Path]) -> None:
    """Of that commit, and no other file than those that are pinned."""
    out = fetched()
    assert (out / "config.json").read_bytes() == CONFIG
    paths = [path for _, path in map(str.split, hub.requests)]
    assert {path.removeprefix(PREFIX) for path in paths if path.startswith("/owner/")} == {*hub.files}


@pytest.mark.parametrize("part", ["config", "weights"])
def test_hub_source_names_the_file_with_another_digest(
    fetched: Callable[..., Path], part: str, tmp_path: Path
) -> None:
    name = {"config": "config.json", "weights": "model.pth"}[part]
    with pytest.raises(
        BuildError,
        match=rf"from huggingface owner/name@ffffffffffff model.pth is refused: {name} .* expected sha256 "
        f"{sha256(b'other')}, got ",
    ):
        fetched(**{part: b"other"})
    assert list((tmp_path / "out").iterdir()) == []


def test_hub_source_reports_a_missing_configuration(hub: Hub, fetched: Callable[..., Path]) -> None:
    del hub.files["config.json"]
    with pytest.raises(
        BuildError, match=r"no source .* \(1\) huggingface .*: config.json cannot be downloaded: "
    ):
        fetched()


def test_hub_source_reports_an_interrupted_download(
    hub: Hub, fetched: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)  # and tries again
    hub.breaks = "model.pth"
    with pytest.raises(
        BuildError, match=r"no source .*: model.pth cannot be downloaded: RemoteProtocolError"
    ):
        fetched()
    assert list((tmp_path / "out").iterdir()) == []
