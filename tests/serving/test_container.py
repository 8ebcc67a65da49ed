"""The image of deploy/Containerfile, built from a bundle's wheel."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from toys import PHONEMES

from kokoro_tvm.publish.distribution import open_verified_bundle, write_wheel

BUILDAH = shutil.which("buildah")
ROOT = Path(__file__).parents[2]
# Neither needs a kernel with overlayfs nor namespaces of its own.
COMMAND = [str(BUILDAH), "--storage-driver", "vfs"]
OPTIONS = {"BUILDAH_ISOLATION": "chroot"}

pytestmark = [
    pytest.mark.slow("builds an image, with packages from an index"),
    pytest.mark.skipif(BUILDAH is None, reason="buildah is not installed"),
]


def buildah(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = os.environ | OPTIONS
    return subprocess.run([*COMMAND, *words], cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def container(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a container of the image."""
    folder = tmp_path_factory.mktemp("image")
    write_wheel(open_verified_bundle(toy), folder / "dist")
    file = ROOT / "deploy/Containerfile"
    base = next(line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("FROM "))
    if not buildah("inspect", "--type", "image", base.split()[1]).stdout:
        fetched = buildah("pull", base.split()[1])
        if fetched.returncode != 0:
            pytest.skip(f"{base.split()[1]} cannot be had: {fetched.stderr.strip().splitlines()[-1]}")
    options = ["--format", "docker", "--network", "host", "-t", "kokoro-tvm-test", "-f", str(file)]
    built = buildah("bud", *options, ".", cwd=folder)
    assert built.returncode == 0, built.stderr[-3000:]
    name = buildah("from", "kokoro-tvm-test").stdout.strip()
    yield name
    buildah("rm", name)
    buildah("rmi", "kokoro-tvm-test")


def test_image_serves_speech_as_its_own_user(container: str) -> None:
    described = json.loads(buildah("inspect", container).stdout)["OCIv1"]["config"]
    assert described["User"] == "kokoro"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*COMMAND, "run", "--network", "host", "--env", f"KOKORO_TVM_SERVE_PORT={port}"]
    command += ["--env", "KOKORO_TVM_SERVE_HOST=127.0.0.1", container, "--", *described["Entrypoint"]]
    process = subprocess.Popen(command, env=os.environ | OPTIONS, stderr=subprocess.PIPE, text=True)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, process.stderr and process.stderr.read()
                time.sleep(0.2)
        body = json.dumps({"phonemes": PHONEMES, "voice": "af_heart"}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/dev/generate_from_phonemes", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.read(4) == b"RIFF"
    finally:
        process.terminate()
        process.wait()
