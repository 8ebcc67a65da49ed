"""`kokoro-tvm serve` in a process that can be killed, and a client of it."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from serving import wait_for

PROGRAM = "from kokoro_tvm.cli import main; main()"


class ServerProcess:
    """A server, the lines it has logged, and its port."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(json.loads(line) if line.startswith("{") else {"message": line})

    def messages(self) -> list[str]:
        return [line["message"] for line in self.lines]

    def wait_for(self, word: str, times: int = 1) -> None:
        """Wait until messages that start with a word are logged so many times."""
        wait_for(lambda: sum(message.startswith(word) for message in self.messages()) >= times or self.ended)
        assert not self.ended, self.lines

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def port(self) -> int:
        (line,) = [message for message in self.messages() if message.startswith("Uvicorn running on")]
        result = re.search(r":(\d+) ", line)
        assert result is not None
        return int(result[1])

    def request(self, phonemes: str) -> http.client.HTTPResponse:
        """Request the speech of phonemes; the body of the response is unread."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.connect()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
        body = json.dumps({"phonemes": phonemes, "response_format": "pcm"})
        connection.request("POST", "/dev/generate_from_phonemes", body, {"Connection": "close"})
        return connection.getresponse()

    def speak(self, phonemes: str) -> bytes:
        with self.request(phonemes) as answer:
            assert answer.status == 200
            return answer.read()

    def metric(self, name: str) -> float:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
        (line,) = [line for line in lines if line.startswith(f"kokoro_tvm_{name} ")]
        return float(line.split()[-1])

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)


@contextlib.contextmanager
def server_process(
    bundle: Path, *options: str, before: Sequence[str] = (), program: str = PROGRAM, **arguments: Any
) -> Iterator[ServerProcess]:
    """before: a command that runs the server's; program: in Python; arguments: of Popen."""
    command = [*before, sys.executable, "-c", program, "serve", "--bundle", f"toy={bundle}", *options]
    if "--port" not in options:
        command += ["--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **arguments) as process:
        server = ServerProcess(process)
        try:
            server.wait_for("Uvicorn running on")
            yield server
        finally:
            if not server.ended:
                process.terminate()
                process.wait(30)
            server._reader.join(30)
