"""Addresses of bundles."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.registry.address import Layout, Repository, parse_place, parse_source

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("oci://localhost:5000/kokoro/cpu:night-7", Repository("localhost:5000", "kokoro/cpu", "night-7")),
        ("oci://ghcr.io/a/b", Repository("ghcr.io", "a/b", "latest")),
        (f"oci://ghcr.io/a/b@{DIGEST}", Repository("ghcr.io", "a/b", DIGEST)),
        ("https://example.org/bundles/", Layout("https://example.org/bundles")),
        ("https://example.org/bundles#cpu", Layout("https://example.org/bundles", "cpu")),
        ("http://127.0.0.1:80/x", Layout("http://127.0.0.1:80/x")),
        ("hf://a/b", Layout("https://huggingface.co/a/b/resolve/main")),
        ("hf://a/b@v1/some/folder#cpu", Layout("https://huggingface.co/a/b/resolve/v1/some/folder", "cpu")),
        ("s3://bucket/x#cpu", Layout("s3://bucket/x", "cpu")),
        ("./cpu", Layout("./cpu")),
        ("/a/b#cpu", Layout("/a/b", "cpu")),
        ("/", Layout("/")),
    ],
)
def test_parse_place_round_trips(text: str, place: Repository | Layout) -> None:
    assert parse_source(text) == parse_place(text) == place
    assert parse_place(str(place)) == place


@pytest.mark.parametrize(
    ("registry", "place"),
    [
        ("oci://ghcr.io/a/b", Repository("ghcr.io", "a/b", "x86-64-v3")),
        ("https://example.org/bundles", Layout("https://example.org/bundles", "x86-64-v3")),
    ],
)
def test_parse_source_uses_the_default_registry(
    registry: str, place: Repository | Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKORO_TVM_REGISTRY", registry)
    assert parse_source("x86-64-v3") == place


def test_parse_source_takes_a_folder_of_a_bare_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KOKORO_TVM_REGISTRY", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bundles").mkdir()
    assert parse_source("bundles") == parse_place("bundles") == Layout("bundles")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpu", "cpu is the name of a bundle, and KOKORO_TVM_REGISTRY does not say in which registry"),
        ("oci://ghcr.io", "no address of a registry"),
        ("oci://ghcr.io/Upper/b", "in small letters"),
        ("oci://ghcr.io/a/b@sha256:12", "no address of a registry"),
        ("oci://ghcr.io/a/b:t@" + DIGEST, "no address of a registry"),
        ("http://example.org/x", "is not encrypted"),
        ("http://localhost.example.org/x", "is not encrypted"),
        ("https://example.org/x#a/b", "'a/b' in .* is no name of a bundle"),
        ("hf://a", "hf://OWNER/REPOSITORY/PATH"),
        ("#cpu", "An address is empty"),
        ("", "An address is empty"),
    ],
)
def test_parse_place_refuses_invalid_addresses(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_source(text)


def test_parse_place_allows_http_on_loopback_only() -> None:
    assert parse_place("oci://localhost:5000/a").url == "http://localhost:5000/v2/a"  # type: ignore[union-attr]
    assert parse_place("oci://[::1]:5000/a").url == "http://[::1]:5000/v2/a"  # type: ignore[union-attr]
    assert parse_place("oci://ghcr.io/a").url == "https://ghcr.io/v2/a"  # type: ignore[union-attr]
