"""Bundles for the runtime's tests: without code, and with numpy in its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_bundle import FakeRunner, write_bundle

from kokoro_tvm.runtime import Synthesizer, Voices, read_bundle


@pytest.fixture
def plain_bundle(tmp_path: Path) -> Path:
    """A complete bundle without compiled code, for what is read before any library is loaded."""
    return write_bundle(tmp_path / "bundle")


@pytest.fixture
def fake(plain_bundle: Path) -> tuple[Synthesizer, FakeRunner]:
    """(Synthesizer around numpy functions, its FakeRunner)."""
    bundle = read_bundle(plain_bundle)
    runner = FakeRunner()
    return Synthesizer.from_parts(bundle, runner, Voices.open(bundle)), runner


ROOMY = {"tokens": [512], "frames": [5120]}  # so that nothing is divided for its length


@pytest.fixture
def roomy(tmp_path: Path) -> tuple[Synthesizer, FakeRunner]:
    """(Synthesizer around numpy functions that takes what the real one takes, its FakeRunner)."""
    bundle = read_bundle(write_bundle(tmp_path / "roomy", buckets=ROOMY))
    runner = FakeRunner()
    return Synthesizer.from_parts(bundle, runner, Voices.open(bundle)), runner


@pytest.fixture(scope="session")
def fake_synthesizer(tmp_path_factory: pytest.TempPathFactory) -> Synthesizer:
    """A Synthesizer as of `roomy` that many examples share."""
    bundle = read_bundle(write_bundle(tmp_path_factory.mktemp("fake") / "bundle", buckets=ROOMY))
    return Synthesizer.from_parts(bundle, FakeRunner(), Voices.open(bundle))
