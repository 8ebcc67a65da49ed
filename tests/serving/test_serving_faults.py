"""Faults around a server: kills, full disks, replaced bundles, clock jumps."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from server_process import server_process
from serving import LONG, ROOMY, Server, wait_for
from toy_bundle import (
    STYLE,
    compile_into,
    edit_manifest,
    file_entry,
    refresh,
    write_bundle,
    write_safetensors,
)

from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.serving.encoding.base import as_int16

LINES = "\n".join(
    f"{first} {second} hid a cab in a hod." for first in ("bad", "dim") for second in ("hen", "cod")
)
ENDLESS = "\n".join([" ".join(["a bad old hen hid"] * 28)] * 100)  # 8 MB of audio, more than a socket holds

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with the libraries of FakeRunner that speaks long pieces."""
    folder = write_bundle(tmp_path_factory.mktemp("compiled") / "toy", buckets=ROOMY)
    compile_into(folder, "exact")
    refresh(folder)
    return folder


def expected(bundle: Path, phonemes: str = LINES) -> bytes:
    return as_int16(Synthesizer(bundle, threads=1).from_phonemes(phonemes.splitlines()).audio)


def whole_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]


def cut_off(answer: http.client.HTTPResponse) -> bool:
    """Whether the rest of an answer shows that it is not all of it."""
    try:
        while answer.read(1 << 16):
            pass
    except (http.client.IncompleteRead, ConnectionError):
        return True
    return False


def test_server_restarts_after_a_kill(bundle: Path, tmp_path: Path) -> None:
    """In mid-stream: the client knows it, no half piece is ever used, the port is free at once."""
    cache = tmp_path / "pieces"
    options = ("--cache", str(cache), "--audio-buffer-s", "1")
    with server_process(bundle, *options) as server:
        answer = server.request(ENDLESS)
        heard = answer.read(1000)
        wait_for(lambda: whole_files(cache))
        port = server.port
        server.kill()
        assert cut_off(answer)
    with server_process(bundle, *options, "--port", str(port)) as server:
        assert server.port == port
        beginning = "\n".join(ENDLESS.splitlines()[:5])
        spoken = server.speak(beginning)
        assert spoken == expected(bundle, beginning)
        assert heard == spoken[:1000]
        assert server.metric('cache_reads_total{result="damaged"}') == 0
        assert server.metric('cache_reads_total{result="hit"}') > 0


@pytest.mark.nightly
def test_killed_worker_is_replaced(bundle: Path, tmp_path: Path) -> None:
    with server_process(bundle, "--workers", "2", "--audio-buffer-s", "1") as server:
        server.wait_for("Application startup complete", 2)
        answer = server.request(ENDLESS)
        answer.read(1000)
        (worker,) = [pid for pid in _children(server.process.pid) if _connections(pid, server.port)]
        os.kill(worker, signal.SIGKILL)
        assert cut_off(answer)
        assert server.speak(LINES) == expected(bundle)  # by the other
        server.wait_for("Application startup complete", 3)
        assert server.speak(LINES) == expected(bundle)


def _children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append(int(path.parent.name))
    return found


def _connections(pid: int, port: int) -> bool:
    """Whether a process has an established connection at a port."""
    inodes = {
        fields[9]
        for fields in map(str.split, Path("/proc/net/tcp").read_text().splitlines()[1:])
        if fields[1].endswith(f":{port:04X}") and fields[3] == "01"
    }
    with contextlib.suppress(OSError):
        links = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
        return any(f"socket:[{inode}]" in links for inode in inodes)
    return False


def test_cache_leaves_no_partial_file(bundle: Path, tmp_path: Path) -> None:
    """The system ends the writing in the middle of the first piece: nothing of it stays."""
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("no limits of other processes here")
    cache = tmp_path / "pieces"
    with server_process(bundle, "--cache", str(cache)) as server:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4000, 4000))
        assert server.speak(LINES) == expected(bundle)
        server.wait_for("cache cannot be written")
        assert server.metric('cache_writes_total{result="failed"}') == 1
        assert server.metric('speeches_total{outcome="spoken"}') == 1
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def _can_mount() -> bool:
    command = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return (
        shutil.which("unshare") is not None and subprocess.run(command, capture_output=True).returncode == 0
    )


def test_full_disk_does_not_stop_speech(bundle: Path, tmp_path: Path) -> None:
    if not _can_mount():
        pytest.skip("no file system can be mounted here")
    cache = tmp_path / "disk"
    cache.mkdir()
    script = 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"'
    before = ["unshare", "-rm", "sh", "-c", script, str(cache)]
    with server_process(bundle, "--cache", str(cache), before=before) as server:
        disk = Path(f"/proc/{server.process.pid}/root{cache}")
        for _ in range(2):
            assert server.speak(LINES) == expected(bundle)
        server.wait_for("cache cannot be written")
        (line,) = [line for line in server.lines if line["message"] == "cache cannot be written"]
        assert "No space left on device" in line["error"]
        assert line["level"] == "warning"
        assert server.metric('cache_writes_total{result="failed"}') == 1
        kept = whole_files(disk)
        assert kept
        assert server.metric('cache_reads_total{result="hit"}') == len(kept)
        assert [path for path in disk.rglob(".*") if path.is_file()] == []
        (disk / "other").write_bytes(b"")  # the folder is as usable as before


def replaced(bundle: Path, seed: int, folder: Path) -> Path:
    """A copy of a bundle with other voices."""
    shutil.copytree(bundle, folder)
    rng = np.random.default_rng(seed)
    names = ("af_heart", "am_adam", "bf_emma", "ef_dora", "jf_alpha")
    tables = {name: rng.standard_normal((510, 2 * STYLE)).astype(np.float32) for name in names}
    write_safetensors(folder / "voices.safetensors", tables)
    edit_manifest(folder, lambda manifest: manifest.update(voices=file_entry(folder / "voices.safetensors")))
    return folder


def swap(folder: Path, other: Path) -> None:
    """Put another bundle in the place of one, by renaming."""
    folder.rename(folder.with_name(f"{folder.name}-before-{other.name}"))
    other.rename(folder)


def test_replaced_bundle_is_served_after_sighup(bundle: Path, tmp_path: Path) -> None:
    """Every answer is all of the old or all of the new, though they share a cache; a broken one stays out."""
    folder = tmp_path / "bundle"
    shutil.copytree(bundle, folder)
    other, broken = replaced(bundle, 8, tmp_path / "other"), replaced(bundle, 9, tmp_path / "broken")
    voices = broken / "voices.safetensors"
    voices.write_bytes(voices.read_bytes()[:-4])
    old, new, endless = expected(bundle), expected(other), expected(bundle, ENDLESS)
    with server_process(folder, "--cache", str(tmp_path / "pieces"), "--audio-buffer-s", "1") as server:
        assert server.speak(LINES) == old
        answer = server.request(ENDLESS)
        first = answer.read(1000)
        swap(folder, other)
        wait_for(lambda: server.metric("bundles_changed") == 1)
        assert server.speak(LINES) == old
        server.wait_for("bundle changed on disk")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("bundles reloaded")
        assert server.speak(LINES) == new
        assert server.metric("bundles_changed") == 0
        assert first + answer.read() == endless  # which began with the old one
        swap(folder, broken)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("bundles not reloaded")
        assert server.speak(LINES) == new


def test_slow_client_stalls_no_other(start: Callable[..., Server]) -> None:
    """One that reads nothing at all, which is the same to others: the server's buffers are full."""
    server = start(audio_buffer_s=1.0)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        body = json.dumps({"input": "[pause:250s] Ha. " * 20, "response_format": "pcm"}).encode()
        head = b"POST /v1/audio/speech HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body)
        slow.sendall(head + body)
        wait_for(lambda: server.service.scheduler.jobs)
        (job,) = server.service.scheduler.jobs
        wait_for(lambda: job._buffered_s >= server.service.settings.audio_buffer_s)
        pieces = job.pieces
        for _ in range(3):
            assert slow.recv(1)
            assert server.speak(LONG).body == server.expected(LONG)
            assert server.get("/health").status == 200
        assert job in server.service.scheduler.jobs
        assert job.pieces <= pieces + 1


@pytest.mark.parametrize("step", [86_400.0, -86_400.0])
def test_wall_clock_jumps_change_nothing(
    start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    """It goes a day forwards or backwards with every look: requests, limits and times are as ever."""
    now, jumps = time.time(), itertools.count()
    monkeypatch.setattr(time, "time", lambda: now + step * next(jumps))
    server = start(request_timeout_s=1.0, write_timeout_s=30.0)
    answers: list[bytes] = []
    threads = [threading.Thread(target=lambda: answers.append(server.speak(LONG).body)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [server.expected(LONG)] * 4
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as silent:
        silent.sendall(b"GET /hea")
        assert silent.recv(1 << 16) == b""  # closed after a second, neither at once nor never
    found = server.get("/metrics").body.decode()
    sums = [float(line.split()[1]) for line in found.splitlines() if "_seconds_sum" in line]
    assert sums
    assert all(0 <= value < 3600 for value in sums)
    assert next(jumps) > 0
