"""The reader of a bundle's manifest."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toy_bundle import edit_manifest

from kokoro_tvm.common.constants import COMPONENTS
from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.runtime.bundle import manifest as module
from kokoro_tvm.runtime.bundle.files import OpenFiles
from kokoro_tvm.runtime.bundle.manifest import Bundle, read_bundle
from kokoro_tvm.runtime.bundle.verification import verify_files


def verify(bundle: Bundle) -> None:
    with OpenFiles(bundle.files()) as files:
        verify_files(files, workers=2)


def test_read_bundle_returns_the_manifest(plain_bundle: Path) -> None:
    bundle = read_bundle(plain_bundle)
    verify(bundle)
    assert tuple(bundle.components) == COMPONENTS
    assert bundle.components["bert"].buckets == (16, 64)  # written in falling order
    assert (bundle.largest("tokens"), bundle.largest("frames")) == (64, 128)
    assert bundle.components["f0n"].outputs[0].shape == (1, "2*F")
    assert len(bundle.files()) == 1 + 5 * 3


def test_read_bundle_reads_a_copy(plain_bundle: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(plain_bundle, tmp_path / "another place"))
    shutil.rmtree(plain_bundle)
    verify(read_bundle(copy))


def test_read_bundle_refuses_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"no bundle at .*nowhere.*doit") as caught:
        read_bundle(tmp_path / "nowhere")
    assert caught.value.exit_code == 5


def test_read_bundle_refuses_a_folder_without_manifest(plain_bundle: Path) -> None:
    (plain_bundle / "bundle.json").unlink()
    with pytest.raises(BundleError, match=r"not a complete bundle: bundle\.json"):
        read_bundle(plain_bundle)


def test_read_bundle_refuses_a_file(plain_bundle: Path) -> None:
    with pytest.raises(BundleError, match=r"is a file; a bundle is a folder"):
        read_bundle(plain_bundle / "bundle.json")


def test_read_bundle_refuses_a_truncated_manifest(plain_bundle: Path) -> None:
    path = plain_bundle / "bundle.json"
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(BundleError, match=r"bundle\.json is no readable JSON"):
        read_bundle(plain_bundle)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(schema=6), r"schema 6; kokoro-tvm \S+ reads schema 5\. Update kokoro-tvm"),
        (lambda m: m.update(schema=4), r"schema 4; .* reads schema 5\. Build the bundle again"),
        (lambda m: m.update(schema="1"), r"'schema' should be int but is str"),
        (lambda m: m.pop("vocabulary"), "lacks 'vocabulary'"),
        (lambda m: m.update(sample_rate="24000"), r"'sample_rate' should be int but is str"),
        (lambda m: m.update(sample_rate=True), r"'sample_rate' should be int but is bool"),
        (lambda m: m.update(samples_per_frame=0), r"'samples_per_frame' should be positive but is 0"),
        (lambda m: m.update(length="stretched"), r"'stretched', not exact or masked or padded"),
        (lambda m: m["components"].pop("f0n"), "lacks the component f0n"),
        (lambda m: m["components"]["bert"].update(libraries=[]), "bert has no library"),
        (lambda m: m["components"]["bert"].update(weights=None), "'weights' should be dict but is nothing"),
        (lambda m: m["voices"].update(file="../voices"), "outside the bundle"),
        (lambda m: m["voices"].update(file="/etc/passwd"), "outside the bundle"),
        (lambda m: m["voices"].update(file="..\\..\\evil.dll"), "outside the bundle"),
        (lambda m: m["voices"].update(file="C:evil.dll"), "outside the bundle"),
        (lambda m: m["voices"].update(file="a\\b"), "outside the bundle"),
    ],
)
def test_read_bundle_refuses_invalid_entries(
    plain_bundle: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    edit_manifest(plain_bundle, change)
    with pytest.raises(BundleError, match=message):
        read_bundle(plain_bundle)


def test_read_bundle_refuses_a_list(plain_bundle: Path) -> None:
    (plain_bundle / "bundle.json").write_text("[]")
    with pytest.raises(BundleError, match="should be a JSON object but is list"):
        read_bundle(plain_bundle)


def test_synthesizer_refuses_a_missing_file(plain_bundle: Path) -> None:
    (plain_bundle / "decoder-128.so").unlink()
    with pytest.raises(BundleError, match=r"decoder-128\.so is missing"):
        verify(read_bundle(plain_bundle))


def test_synthesizer_refuses_a_truncated_file(plain_bundle: Path) -> None:
    path = plain_bundle / "bert.safetensors"
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(BundleError, match=f"has {whole - 5} bytes, but .* {whole}"):
        verify(read_bundle(plain_bundle))


@pytest.mark.parametrize("name", ["bert.safetensors", "voices.safetensors", "f0n-32.so"])
def test_synthesizer_refuses_a_changed_byte(plain_bundle: Path, name: str) -> None:
    path = plain_bundle / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(BundleError, match=rf"{name} has sha256 [0-9a-f]{{64}}, but .* [0-9a-f]{{64}}"):
        verify(read_bundle(plain_bundle))


def test_read_bundle_accepts_every_version(plain_bundle: Path) -> None:
    """The schema decides, not the version."""
    edit_manifest(plain_bundle, lambda m: m.update(version="9.9"))
    bundle = read_bundle(plain_bundle)
    assert (bundle.schema, bundle.version) == (module.SCHEMA, "9.9")


def test_read_bundle_accepts_the_pinned_digest(plain_bundle: Path) -> None:
    digest = hashlib.sha256((plain_bundle / "bundle.json").read_bytes()).hexdigest()
    assert read_bundle(plain_bundle).sha256 == digest
    for given in (digest, digest.upper()):
        assert read_bundle(plain_bundle, given).sha256 == digest


def test_read_bundle_refuses_another_digest(plain_bundle: Path) -> None:
    digest = read_bundle(plain_bundle).sha256
    edit_manifest(plain_bundle, lambda m: m.update(recipe="other"))
    with pytest.raises(BundleError, match=rf"has sha256 [0-9a-f]{{64}}, but {digest} was given"):
        read_bundle(plain_bundle, digest)


@pytest.mark.parametrize("pin", ["", "abc", "g" * 64, "0" * 65, 5])
def test_read_bundle_refuses_an_invalid_digest(plain_bundle: Path, pin: Any) -> None:
    with pytest.raises(InputError, match="should be 64 hexadecimal digits"):
        read_bundle(plain_bundle, pin)


def test_synthesizer_refuses_other_file_types(plain_bundle: Path) -> None:
    """A named pipe blocks its reader; a folder cannot be read."""
    bundle = read_bundle(plain_bundle)
    (plain_bundle / "bert-16.so").unlink()
    (plain_bundle / "bert-16.so").mkdir()
    with pytest.raises(BundleError, match=r"bert-16\.so (is not a regular file|cannot be read)"):
        verify(bundle)
    if hasattr(os, "mkfifo"):
        (plain_bundle / "bert-16.so").rmdir()
        os.mkfifo(plain_bundle / "bert-16.so")
        with pytest.raises(BundleError, match=r"bert-16\.so is not a regular file"):
            verify(bundle)
