"""Platforms of bundles."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from toy_bundle import edit_manifest

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.common.platforms import Platform, detect_platform, parse_triple
from kokoro_tvm.runtime import Synthesizer


@pytest.mark.parametrize(
    ("triple", "platform"),
    [
        ("x86_64-linux-gnu", Platform("x86_64", "linux")),
        ("x86_64-unknown-linux-gnu", Platform("x86_64", "linux")),
        ("aarch64-unknown-linux-musl", Platform("aarch64", "linux")),
        ("riscv64-linux-gnu", Platform("riscv64", "linux")),
        ("x86_64-pc-windows-msvc", Platform("x86_64", "windows")),
        ("x86_64-w64-windows-gnu", Platform("x86_64", "windows")),
        ("arm64-apple-macos11.0", Platform("aarch64", "darwin")),
        ("arm64-apple-darwin23.1.0", Platform("aarch64", "darwin")),
        ("aarch64-apple-macosx14.0", Platform("aarch64", "darwin")),
        ("arm64-apple-ios14.0", Platform("aarch64", "ios")),
        ("wasm32-unknown-unknown", Platform("wasm32", "")),
    ],
)
def test_parse_triple_returns_the_platform(triple: str, platform: Platform) -> None:
    assert parse_triple(triple) == platform


@pytest.mark.parametrize(
    ("machine", "system", "platform"),
    [
        ("x86_64", "Linux", "Linux on x86_64"),
        ("AMD64", "Windows", "Windows on x86_64"),
        ("arm64", "Darwin", "macOS on aarch64"),
        ("arm64", "iOS", "iOS on aarch64"),
        ("amd64", "FreeBSD", "another system on amd64"),
    ],
)
def test_this_platform_is_known(
    machine: str, system: str, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("platform.system", lambda: system)
    assert str(detect_platform()) == platform


@pytest.mark.parametrize(
    ("triple", "name"),
    [
        ("x86_64-pc-windows-msvc", "Windows on x86_64"),
        ("arm64-apple-macos11.0", "macOS on aarch64"),
        ("riscv64-unknown-linux-gnu", "Linux on riscv64"),
    ],
)
def test_check_platform_refuses_other_platforms(
    triple: str, name: str, compiled: Callable[[str], Path], tmp_path: Path
) -> None:
    bundle = Path(shutil.copytree(compiled("exact"), tmp_path / "bundle"))
    edit_manifest(bundle, lambda manifest: manifest["target"].update(mtriple=triple))
    with pytest.raises(BundleError) as caught:
        Synthesizer(bundle)
    assert str(caught.value) == (
        f"{bundle} (recipe toy) was built for {name}, and this is {detect_platform()}. "
        "Use the recipe `cpu`, built on this machine."
    )


def test_check_platform_refuses_ios_bundles(
    compiled: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = Path(shutil.copytree(compiled("exact"), tmp_path / "bundle"))
    edit_manifest(bundle, lambda manifest: manifest["target"].update(mtriple="arm64-apple-ios14.0"))
    for machine, system in (("arm64", "iOS"), ("x86_64", "Linux")):
        monkeypatch.setattr("platform.machine", lambda name=machine: name)
        monkeypatch.setattr("platform.system", lambda name=system: name)
        with pytest.raises(BundleError) as caught:
            Synthesizer(bundle)
        assert str(caught.value) == (
            f"{bundle} (recipe toy) was built for iOS on aarch64, as archives that an app is linked with: "
            f"nothing can load them, and this is {detect_platform()}. `kokoro-tvm package` writes them as an "
            "XCFramework. To speak here, use the recipe `cpu`, built on this machine."
        )


def test_check_platform_refuses_wasm_bundles(compiled: Callable[[str], Path], tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(compiled("exact"), tmp_path / "bundle"))
    edit_manifest(bundle, lambda manifest: manifest["target"].update(mtriple="wasm32-unknown-unknown"))
    with pytest.raises(BundleError) as caught:
        Synthesizer(bundle)
    assert str(caught.value) == (
        f"{bundle} (recipe toy) was built for WebAssembly: a browser runs it, or Node, and no Python. "
        f"`kokoro-tvm web {bundle}` writes a page that speaks with it. To speak here, use the recipe `cpu`, "
        "built on this machine."
    )
