"""Pulls of bundles: resumption, verification and errors.

Golden messages: golden/NAME.txt, with the registry as HOST and this test's folder as FOLDER.
"""

from __future__ import annotations

import json
import re
import shutil
import stat
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from registries import FakeRegistry, state_provenance
from toy_bundle import edit_manifest, write_bundle

from kokoro_tvm.common.bundles import default_bundle
from kokoro_tvm.common.errors import BundleError, InputError, KokoroTvmError
from kokoro_tvm.publish.push import push
from kokoro_tvm.runtime.bundle.manifest import read_bundle
from kokoro_tvm.runtime.registry import pull as pulling
from kokoro_tvm.runtime.registry import web
from kokoro_tvm.runtime.registry.address import parse_place
from kokoro_tvm.runtime.registry.pull import PulledBundle, pull
from kokoro_tvm.runtime.registry.web import Web

GOLDEN = Path(__file__).parent / "golden"
LARGE = "voices.safetensors"  # of 41 kB, the largest of the bundle


@pytest.fixture
def place(registry: FakeRegistry, stated_bundle: Path) -> Any:
    """The address of the pushed bundle."""
    place = parse_place(f"oci://{registry.host}/kokoro/cpu:night")
    push(stated_bundle, place, on_upload=lambda layer: None)
    registry.requests.clear()
    return place


def travelled(registry: FakeRegistry, folder: Path) -> list[str]:
    """Return the requested files with their ranges, in order."""
    names = {f.sha256: f.path.name for f in read_bundle(folder).files()}
    found = []
    for request in registry.requests:
        _, path, *range_ = request.split(" ")
        if name := names.get(path.rpartition(":")[2]):
            found.append(" ".join([name, *range_]))
    return found


def content(folder: Path) -> dict[str, bytes]:
    """All files except the provenance, to which the push adds gates."""
    files = (path for path in folder.iterdir() if path.name != "provenance.json")
    return {path.name: path.read_bytes() for path in files}


def test_pull_returns_the_pushed_bundle(place: Any, stated_bundle: Path, pulled: Path) -> None:
    meter: list[tuple[int, int]] = []
    found = pull(place, meter=lambda arrived, total: meter.append((arrived, total)))
    assert found.bundle.root == pulled / "toy"
    assert content(stated_bundle).items() <= content(pulled / "toy").items()
    assert meter[-1] == (found.downloaded, found.downloaded)
    assert found.shared == 0
    assert [path.name for path in pulled.iterdir()] == ["toy"]


def test_pulled_bundle_is_the_default(
    place: Any, pulled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_bundle() == Path("artifacts/cpu")
    pull(place)
    assert default_bundle() == pulled / "toy"
    pull(place, pulled / "later")
    assert default_bundle() == pulled / "later"


def test_pull_shares_files_of_other_bundles(
    place: Any, registry: FakeRegistry, stated_bundle: Path, tmp_path: Path, pulled: Path
) -> None:
    """Voices and weights are equal in every bundle of a model."""
    pull(place)
    other = write_bundle(tmp_path / "other", buckets={"tokens": [16], "frames": [256]})
    edit_manifest(other, lambda manifest: manifest.update(recipe="other"))
    target = parse_place(f"oci://{registry.host}/kokoro/other:night")
    push(state_provenance(other, "other"), target, on_upload=lambda layer: None)
    registry.requests.clear()
    found = pull(target)
    assert set(travelled(registry, other)) == {"f0n-256.so", "decoder-256.so"}
    assert content(other).items() <= content(pulled / "other").items()
    assert (pulled / "other" / LARGE).stat().st_ino == (pulled / "toy" / LARGE).stat().st_ino
    assert found.downloaded == len("f0n 256") + len("decoder 256")
    assert found.shared == sum({f.sha256: f.size for f in found.bundle.files()}.values()) - found.downloaded


def test_pull_downloads_files_with_wrong_local_copies(
    place: Any, registry: FakeRegistry, pulled: Path
) -> None:
    pull(place)
    damaged = pulled / "toy" / LARGE
    damaged.write_bytes(b"x" * damaged.stat().st_size)
    registry.requests.clear()
    assert travelled(registry, pull(place, pulled / "second").bundle.root) == [LARGE]
    pull(place)  # the damaged one, too, is whole again
    assert (pulled / "toy" / LARGE).read_bytes() == (pulled / "second" / LARGE).read_bytes()


def cut(times: int, at: float = 0.5) -> Callable[[BaseHTTPRequestHandler, bytes, int], bool]:
    """Break the connection within the large file, so many times."""
    left = [times]

    def spoil(handler: BaseHTTPRequestHandler, content: bytes, offset: int) -> bool:
        if len(content) < 40_000 or not left[0]:
            return False
        left[0] -= 1
        rest = content[offset:]
        handler.send_response(206 if offset else 200)
        handler.send_header("Content-Length", str(len(rest)))
        if offset:
            handler.send_header("Content-Range", f"bytes {offset}-{len(content) - 1}/{len(content)}")
        handler.end_headers()
        handler.wfile.write(rest[: int(len(rest) * at)])
        handler.close_connection = True
        return True

    return spoil


def test_pull_resumes_after_a_failure(
    place: Any, registry: FakeRegistry, stated_bundle: Path, pulled: Path
) -> None:
    size = (stated_bundle / LARGE).stat().st_size
    registry.spoil = cut(2)
    pull(place)
    requests = [each for each in travelled(registry, stated_bundle) if each.startswith(LARGE)]
    assert requests == [LARGE, f"{LARGE} bytes={size // 2}-", f"{LARGE} bytes={size // 2 + size // 4}-"]
    assert (pulled / "toy" / LARGE).read_bytes() == (stated_bundle / LARGE).read_bytes()


def test_pull_resumes_an_earlier_pull(
    place: Any, registry: FakeRegistry, stated_bundle: Path, pulled: Path
) -> None:
    size = (stated_bundle / LARGE).stat().st_size
    broke = cut(1)

    def spoil(handler: BaseHTTPRequestHandler, content: bytes, offset: int) -> bool:
        if broke(handler, content, offset):
            return True
        if offset:
            handler.send_error(403)
        return bool(offset)

    registry.spoil = spoil
    with pytest.raises(BundleError, match="resumes the download"):
        pull(place)
    assert not (pulled / "toy").exists()
    registry.spoil = None
    registry.requests.clear()
    found = pull(place)
    assert travelled(registry, stated_bundle) == [f"{LARGE} bytes={size // 2}-"], "the others came before"
    assert found.downloaded == size - size // 2
    assert [path.name for path in pulled.iterdir()] == ["toy"]


def test_pull_restarts_without_range_support(
    place: Any, registry: FakeRegistry, stated_bundle: Path, pulled: Path
) -> None:
    registry.ranges, registry.spoil = False, cut(1)
    pull(place)
    assert (pulled / "toy" / LARGE).read_bytes() == (stated_bundle / LARGE).read_bytes()


def test_pull_retries_temporary_errors(place: Any, registry: FakeRegistry) -> None:
    left = [3]

    def spoil(handler: BaseHTTPRequestHandler, content: bytes, offset: int) -> bool:
        busy = len(content) > 40_000 and left[0] > 0
        if busy:
            left[0] -= 1
            handler.send_error(503)
        return busy

    registry.spoil = spoil
    assert pull(place).bundle.recipe == "toy"


def test_pull_fetches_a_token(place: Any, registry: FakeRegistry, stated_bundle: Path) -> None:
    registry.token = "secret"
    pull(place)
    assert sum(request.startswith("GET /token?service=fake&scope=all") for request in registry.requests) == 1
    push(stated_bundle, parse_place(f"oci://{registry.host}/kokoro/cpu:again"), on_upload=lambda layer: None)
    assert "again" in registry.tags


def test_pull_replaces_a_bundle_atomically(
    place: Any, registry: FakeRegistry, pulled: Path, tmp_path: Path
) -> None:
    before = pull(place).bundle
    newer = write_bundle(tmp_path / "newer", buckets={"tokens": [32], "frames": [64]})
    push(state_provenance(newer), place, on_upload=lambda layer: None)
    registry.spoil = cut(99)
    (pulled / "toy" / LARGE).unlink()  # so that it has to travel
    with pytest.raises(BundleError):
        pull(place)
    assert read_bundle(pulled / "toy").sha256 == before.sha256
    registry.spoil = None
    assert pull(place).bundle.sha256 == read_bundle(newer).sha256
    assert inspect_names(pulled / "toy") == {path.name for path in newer.iterdir()} | {"sbom.cdx.json"}


def inspect_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_pull_by_digest(place: Any, registry: FakeRegistry, tmp_path: Path) -> None:
    found = pull(place)
    pinned = f"oci://{registry.host}/kokoro/cpu@sha256:{found.digest}"
    assert pull(parse_place(pinned), tmp_path / "pinned").bundle.sha256 == found.bundle.sha256


def send(status: int, content: bytes = b"", **headers: str) -> Callable[..., bool]:
    """Replace the response of every large file."""

    def spoil(handler: BaseHTTPRequestHandler, whole: bytes, offset: int) -> bool:
        if len(whole) < 40_000:
            return False
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)
        return True

    return spoil


def silent(handler: BaseHTTPRequestHandler, content: bytes, offset: int) -> bool:
    """Send the head of a response only, until the client disconnects."""
    if len(content) < 40_000:
        return False
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.rfile.read(1)
    return True


def retag(registry: FakeRegistry, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest of the tag."""
    manifest = json.loads(registry.tags["night"])
    change(manifest)
    registry.tags["night"] = json.dumps(manifest).encode()


def other_voices(manifest: dict[str, Any]) -> None:
    (layer,) = (entry for entry in manifest["layers"] if LARGE in entry["annotations"].values())
    layer["digest"] = "sha256:" + "0" * 64


FAULTS: dict[str, Callable[[FakeRegistry], object]] = {
    "another-digest": lambda r: setattr(r, "spoil", send(200, b"x" * 41248)),
    "longer": lambda r: setattr(r, "spoil", send(200, b"x" * 50_000)),
    "ends-in-the-middle": lambda r: setattr(r, "spoil", cut(99, at=0)),
    "silent": lambda r: setattr(r, "spoil", silent),
    "another-part": lambda r: setattr(r, "spoil", lambda *a: cut(1)(*a) if not a[2] else send(206)(*a)),
    "gone": lambda r: setattr(r, "spoil", send(404, b'{"errors": [{"message": "blob unknown"}]}')),
    "broken": lambda r: setattr(r, "spoil", send(500)),
    "in-the-clear": lambda r: setattr(r, "spoil", send(307, Location="http://example.org/blob")),
    "login": lambda r: setattr(r, "spoil", send(401, WWW_Authenticate="Basic realm=x")),
    "no-such-tag": lambda r: r.tags.clear(),
    "no-manifest": lambda r: r.tags.update(night=b"<html>"),
    "an-image": lambda r: retag(r, lambda m: m.pop("artifactType")),
    "no-provenance": lambda r: retag(
        r, lambda m: m.update(layers=[e for e in m["layers"] if "provenance.json" not in str(e)])
    ),
    "another-file": lambda r: retag(r, other_voices),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_pull_reports_faults_of_a_registry(
    fault: str, place: Any, registry: FakeRegistry, pulled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "Web", lambda: Web(idle_timeout_s=0.2))
    FAULTS[fault](registry)
    with pytest.raises(BundleError) as refused:
        pull(place)
    assert plain(refused.value, registry, pulled) == golden(fault)
    assert not (pulled / "toy").exists()
    assert not (pulled / ".kokoro-tvm-pull" / "new").exists()


def test_pull_refuses_another_manifest(registry: FakeRegistry, pulled: Path, place: Any) -> None:
    pinned = "0" * 64
    registry.blobs[pinned] = registry.tags["night"]
    with pytest.raises(BundleError) as refused:
        pull(parse_place(f"oci://{registry.host}/kokoro/cpu@sha256:{pinned}"))
    assert plain(refused.value, registry, pulled) == golden("another-manifest")


def test_pull_reports_a_refused_connection(pulled: Path) -> None:
    with pytest.raises(BundleError) as refused:
        pull(parse_place("oci://127.0.0.1:1/kokoro/cpu"))
    assert plain(refused.value, FakeRegistry("127.0.0.1:1"), pulled) == golden("nobody")


def test_pull_reports_a_full_disk(
    place: Any, registry: FakeRegistry, stated_bundle: Path, pulled: Path
) -> None:
    digest = next(f.sha256 for f in read_bundle(stated_bundle).files() if f.path.name == LARGE)
    (pulled / ".kokoro-tvm-pull").mkdir(parents=True)
    (pulled / ".kokoro-tvm-pull" / digest).symlink_to("/dev/full")
    with pytest.raises(BundleError) as refused:
        pull(place)
    assert plain(refused.value, registry, pulled) == golden("full")
    assert not (pulled / "toy").exists()


def test_pull_checks_free_space_first(
    place: Any, registry: FakeRegistry, stated_bundle: Path, pulled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(9, 8, 1))  # type: ignore[attr-defined]
    with pytest.raises(BundleError) as refused:
        pull(place)
    assert plain(refused.value, registry, pulled) == golden("no-room")
    assert travelled(registry, stated_bundle) == []


def test_pull_refuses_a_foreign_folder(place: Any, registry: FakeRegistry, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years")
    with pytest.raises(InputError) as refused:
        pull(place, folder)
    assert plain(refused.value, registry, tmp_path) == golden("no-bundle-there")
    assert inspect_names(folder) == {"thesis.txt"}


def test_pull_refuses_a_second_pull(place: Any, registry: FakeRegistry, pulled: Path) -> None:
    pulled.mkdir(parents=True)
    (pulled / ".kokoro-tvm-pull").mkdir()
    with pulling._hold_folder(pulled / ".kokoro-tvm-pull"), pytest.raises(BundleError) as refused:
        pull(place)
    assert plain(refused.value, registry, pulled) == golden("two-at-once")
    assert isinstance(pull(place), PulledBundle)


@pytest.mark.parametrize("digest", ["../../evil", "sha256:../../../evil", "sha512:" + "0" * 64, ""])
def test_pull_refuses_a_digest_with_a_path(
    digest: str, place: Any, registry: FakeRegistry, pulled: Path, tmp_path: Path
) -> None:
    def change(manifest: dict[str, Any]) -> None:
        for layer in manifest["layers"]:
            if LARGE in layer["annotations"].values():
                layer["digest"] = digest

    retag(registry, change)
    with pytest.raises(BundleError, match=r"layers\[\d+\] has 41248 bytes and the digest .* Push the bundle"):
        pull(place)
    assert list(pulled.iterdir()) == []
    assert [path.name for path in tmp_path.parent.rglob("*evil*")] == []


def test_pull_shows_no_control_characters(place: Any, registry: FakeRegistry) -> None:
    words = json.dumps({"errors": [{"message": "\x1b[2J" + "gone" * 999}]}).encode()
    registry.spoil = send(404, words)
    with pytest.raises(BundleError, match=r"status 404, \?\[2Jgone") as refused:
        pull(place)
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize("recipe", ["../evil", ".", "a/b"])
def test_pull_refuses_a_name_with_a_path(
    recipe: str, registry: FakeRegistry, stated_bundle: Path, pulled: Path
) -> None:
    edit_manifest(stated_bundle, lambda manifest: manifest.update(recipe=recipe))
    place = parse_place(f"oci://{registry.host}/kokoro/cpu")
    push(state_provenance(stated_bundle), place, on_upload=lambda layer: None)
    with pytest.raises(BundleError, match="which is no name"):
        pull(place)
    assert list(pulled.iterdir()) == []


def test_pull_follows_a_linked_output(place: Any, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real/bundle")
    for _ in range(3):
        pull(place, link)
        assert link.is_symlink()
        assert read_bundle(link).recipe == "toy"
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["bundle"]


def test_pull_follows_a_linked_recipe_folder(place: Any, pulled: Path, tmp_path: Path) -> None:
    pulled.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (pulled / "toy").symlink_to(tmp_path / "elsewhere")
    for _ in range(2):
        pull(place)
    assert (pulled / "toy").is_symlink()
    assert read_bundle(tmp_path / "elsewhere").recipe == "toy"


def _link_folder(work: Path) -> None:
    (work.parent / "theirs").mkdir()
    work.symlink_to("theirs")


def _open_to_others(work: Path) -> None:
    work.mkdir()
    work.chmod(0o777)


@pytest.mark.parametrize("plant", [_link_folder, _open_to_others])
def test_pull_refuses_a_world_writable_folder(
    plant: Callable[[Path], None], place: Any, registry: FakeRegistry, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    plant(shared / ".kokoro-tvm-pull")
    with pytest.raises(BundleError, match="can be written by others"):
        pull(place, shared / "toy")
    assert not registry.requests
    assert not (shared / "toy").exists()


def test_pull_truncates_no_linked_file(place: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("years")
    (tmp_path / ".kokoro-tvm-pull").mkdir()
    (tmp_path / ".kokoro-tvm-pull" / "lock").symlink_to(tmp_path / "mine")
    with pytest.raises(BundleError, match="lock cannot be written"):
        pull(place, tmp_path / "toy")
    assert (tmp_path / "mine").read_text() == "years"


def test_pull_works_in_a_folder_of_its_own(
    place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    hold_folder = pulling._hold_folder

    def watched(work: Path) -> Any:
        modes.append(work.stat().st_mode & 0o777)
        return hold_folder(work)

    monkeypatch.setattr(pulling, "_hold_folder", watched)
    pull(place, tmp_path / "toy")
    assert modes == [0o700]


def test_pull_refuses_a_swapped_folder(place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    swap = pulling._swap

    def swapped(new: Path, folder: Path) -> None:
        swap(new, folder)
        folder.rename(folder.with_name("theirs"))
        shutil.copytree(folder.with_name("theirs"), folder)

    monkeypatch.setattr(pulling, "_swap", swapped)
    with pytest.raises(BundleError, match="is not the folder that was verified"):
        pull(place, tmp_path / "toy")


def test_pull_links_no_file_of_another_user(
    place: Any, registry: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull(place, tmp_path / "theirs")
    monkeypatch.setattr(pulling, "_is_own", lambda status: stat.S_ISDIR(status.st_mode))
    registry.requests.clear()
    pull(place, tmp_path / "mine")
    assert (tmp_path / "mine" / LARGE).stat().st_nlink == 1
    assert LARGE not in travelled(registry, tmp_path / "mine")


def test_pull_sends_a_login_to_its_registry_only(
    place: Any, registry: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `docker login` wrote it."""
    (tmp_path / "docker").mkdir()
    auths = {registry.host: {"auth": "bWU6c2VjcmV0"}}
    (tmp_path / "docker" / "config.json").write_text(json.dumps({"auths": auths}))
    assert web._login(registry.host) == "bWU6c2VjcmV0"
    assert web._login("ghcr.io") == ""


def plain(error: KokoroTvmError, registry: FakeRegistry, folder: Path) -> str:
    text = str(error).replace(registry.host, "HOST").replace(str(folder), "FOLDER")
    return re.sub(r"[0-9a-f]{64}", "SHA256", text)


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").strip()
