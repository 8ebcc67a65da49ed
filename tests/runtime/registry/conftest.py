"""Fixtures: a bundle with provenance, a registry in this process, and keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from registries import FakeRegistry, fake_registry, state_provenance

from kokoro_tvm.runtime.registry import download


@pytest.fixture(autouse=True)
def pulled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of pulled bundles; logins of the user are hidden."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setattr(download, "_PAUSE_S", 0)
    return tmp_path / "data" / "kokoro-tvm" / "bundles"


@pytest.fixture
def stated_bundle(plain_bundle: Path) -> Path:
    """A bundle with provenance, without compiled code."""
    return state_provenance(plain_bundle)


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    """An empty one."""
    with fake_registry() as state:
        yield state


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with mine.pem, mine.pub, other.pem and other.pub."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("mine", "other"):
        key = Ed25519PrivateKey.generate()
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        (folder / f"{name}.pem").write_bytes(private)
        (folder / f"{name}.pub").write_bytes(public)
    return folder
