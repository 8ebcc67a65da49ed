"""Servers that answer, refuse or keep silent."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from kokoro_tvm.model import network
from kokoro_tvm.model.network import unreachable


@pytest.fixture(autouse=True)
def _hastily(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "PROBE_TIMEOUT_S", 0.2)
    monkeypatch.setenv("no_proxy", "*")


def test_unreachable_reports_refusing_and_silent_servers() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        result = unreachable(url)
        assert result is not None
        assert result.startswith(f"{url} cannot be reached: ")
        assert "refused" in result
        listener.listen()
        result = unreachable(url)
        assert result is not None
        assert result.startswith(f"{url} cannot be reached: ")
        assert "timed out" in result


def test_unreachable_reports_a_slow_name_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def look_up(*_: object, **__: object) -> None:
        ended.wait()
        raise OSError

    monkeypatch.setattr(network.urllib.request, "urlopen", look_up)
    assert unreachable("http://it") == "http://it does not answer within 0 s"
    ended.set()


def test_unreachable_reports_an_invalid_address() -> None:
    assert unreachable("nonsense") == "nonsense cannot be reached: unknown url type: 'nonsense'"


@pytest.mark.parametrize("status", [200, 404, 500])
def test_unreachable_accepts_any_answer(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setattr(network, "PROBE_TIMEOUT_S", 5.0)
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert unreachable(f"http://127.0.0.1:{server.server_port}") is None
