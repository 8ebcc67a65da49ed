"""Pushes of bundles."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from registries import REGISTRY, FakeRegistry, debian_registry, state_provenance
from toy_bundle import edit_manifest, write_bundle

from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.publish import push as pushing
from kokoro_tvm.publish.attestation import NOT_RUN, read_signer
from kokoro_tvm.publish.push import push
from kokoro_tvm.runtime.bundle.manifest import read_bundle
from kokoro_tvm.runtime.registry.address import parse_place
from kokoro_tvm.runtime.registry.artifact import OciLayer
from kokoro_tvm.runtime.registry.pull import pull
from kokoro_tvm.runtime.registry.trust import read_key

SKOPEO = shutil.which("skopeo")


def quiet(layer: OciLayer) -> None:
    pass


def test_push_is_idempotent(registry: FakeRegistry, stated_bundle: Path) -> None:
    place = parse_place(f"oci://{registry.host}/kokoro/cpu:night")
    first = push(stated_bundle, place, on_upload=quiet)
    second = push(stated_bundle, place, on_upload=quiet)
    assert (second.sent, second.present) == (0, first.sent + first.present)
    assert second.digest == first.digest


def speech_of(folder: Path) -> dict[str, Any]:
    statement = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    (found,) = [b for b in statement["predicate"]["runDetails"]["byproducts"] if b["name"] == "speech.json"]
    return dict(found)


def speech_record(folder: Path, bundle_sha256: str) -> None:
    """Write the report of gates on utterances for a bundle."""
    store = Store(folder.parent / ".store")
    verdict = {"output": "", "gate": "min_snr_db", "value": 9, "limit": 1, "status": "passed"}
    utterance = {"name": "short", "status": "passed", "verdicts": [verdict]}
    report = {"passed": True, "utterances": [utterance], "overall": []}
    derivation = {"inputs": {"bundle/bundle.json": bundle_sha256}}
    with store.workspace("a" * 64) as out:
        (out / "speech.json").write_text(json.dumps(report))
        record = store.publish("toy.speech", derivation, out, ["speech.json"], 1.0, 1.0)
    assert store.restore(record, folder.parent / ".build", "toy.speech")


def test_push_includes_the_gates_of_utterances(stated_bundle: Path, tmp_path: Path) -> None:
    """Also for a pulled bundle, which lacks the report."""
    speech_record(stated_bundle, read_bundle(stated_bundle).sha256)
    push(stated_bundle, parse_place(str(tmp_path / "layout")), on_upload=quiet)
    pull(parse_place(str(tmp_path / "layout")), tmp_path / "out" / "pulled")
    speech = speech_of(tmp_path / "out" / "pulled")
    assert speech["annotations"] == {"passed": True, "gates": {"min_snr_db": {"limit": 1, "value": 9}}}
    push(tmp_path / "out" / "pulled", parse_place(str(tmp_path / "next")), on_upload=quiet)
    pull(parse_place(str(tmp_path / "next")), tmp_path / "again")
    assert speech_of(tmp_path / "again") == speech


@pytest.mark.parametrize("other", [False, True], ids=["none", "of another bundle"])
def test_push_states_missing_gates_of_utterances(stated_bundle: Path, tmp_path: Path, other: bool) -> None:
    if other:
        speech_record(stated_bundle, "f" * 64)
    push(stated_bundle, parse_place(str(tmp_path / "layout")), on_upload=quiet)
    pull(parse_place(str(tmp_path / "layout")), tmp_path / "pulled")
    speech = speech_of(tmp_path / "pulled")
    assert speech["uri"] == NOT_RUN
    assert speech["annotations"] == {
        "passed": False,
        "gates": {},
        "not_run": "there is no report of it beside the bundle",
    }


def test_push_writes_the_tag_last(
    registry: FakeRegistry, stated_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed push keeps the earlier tag."""
    place = parse_place(f"oci://{registry.host}/kokoro/cpu:night")
    push(stated_bundle, place, on_upload=quiet)
    before = registry.tags["night"]
    edit_manifest(stated_bundle, lambda manifest: manifest.update(version="9"))
    state_provenance(stated_bundle)
    registry.host = "127.0.0.1:1"  # where uploads are sent on to nobody

    def broken(self: object, layer: OciLayer, stream: object) -> None:
        raise pushing.TransferError("status 507, no space left")

    monkeypatch.setattr(pushing._Registry, "put", broken)
    with pytest.raises(
        BundleError, match=r"does not take the bundle: status 507, no space left\. Correct that, "
    ):
        push(stated_bundle, place, on_upload=quiet)
    assert registry.tags["night"] == before


def test_push_refuses_a_damaged_bundle(registry: FakeRegistry, stated_bundle: Path) -> None:
    weights = stated_bundle / "bert.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(BundleError, match="changed or damaged"):
        push(stated_bundle, parse_place(f"oci://{registry.host}/kokoro/cpu"), on_upload=quiet)
    assert registry.requests == []


def test_layout_shares_files_of_bundles(stated_bundle: Path, tmp_path: Path) -> None:
    layout, out = tmp_path / "layout", tmp_path / "out"
    push(stated_bundle, parse_place(str(layout)), on_upload=quiet)
    assert pull(parse_place(str(layout)), out / "only").bundle.recipe == "toy", "its only bundle"
    blobs = set((layout / "blobs/sha256").iterdir())
    other = write_bundle(tmp_path / "other", buckets={"tokens": [16], "frames": [256]})
    edit_manifest(other, lambda manifest: manifest.update(recipe="other"))
    push(state_provenance(other, "other"), parse_place(str(layout)), on_upload=quiet)
    added = set((layout / "blobs/sha256").iterdir()) - blobs
    # Two libraries of other buckets, what describes the bundle, and its manifest.
    assert len(added) == 2 + 3 + 1
    assert json.loads((layout / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    with pytest.raises(InputError, match=r"has several bundles. It has: other, toy. Write .*#NAME"):
        pull(parse_place(str(layout)), out / "none")
    with pytest.raises(InputError, match=r"has no bundle third. It has: other, toy"):
        pull(parse_place(f"{layout}#third"), out / "none")
    assert pull(parse_place(f"{layout}#other"), out / "other").bundle.recipe == "other"
    push(stated_bundle, parse_place(str(layout)), on_upload=quiet)
    assert len(json.loads((layout / "index.json").read_text())["manifests"]) == 2


def test_layout_on_fsspec(stated_bundle: Path, tmp_path: Path) -> None:
    place = parse_place("memory://bundles/nightly#cpu")
    push(stated_bundle, place, on_upload=quiet)
    found = pull(place, tmp_path / "out")
    assert found.bundle.recipe == "toy"
    assert (
        found.trusted == "not signed: anyone who can write to memory://bundles/nightly could have changed it"
    )


@pytest.mark.parametrize(
    "address", ["http://{host}/owner/bundles/resolve/main/night", "hf://owner/bundles/night"]
)
def test_layout_on_a_web_server_and_the_hub(
    address: str, stated_bundle: Path, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of OWNER/REPOSITORY/resolve/REVISION/PATH, without ranges."""
    folder = tmp_path / "web/owner/bundles/resolve/main/night"
    push(stated_bundle, parse_place(str(folder)), read_signer(keys / "mine.pem"), on_upload=quiet)

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "web"))) as server:
        host = f"127.0.0.1:{server.server_port}"
        monkeypatch.setenv("HF_ENDPOINT", f"http://{host}")
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            found = pull(parse_place(address.format(host=host)), tmp_path / "out")
            with pytest.raises(BundleError, match=r"There is no .*/other: status 404"):
                pull(parse_place("hf://owner/bundles/other"), tmp_path / "none")
        finally:
            server.shutdown()
    assert found.bundle.recipe == "toy"
    assert f"not by a key that you named: the web server {host}" in found.trusted


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("https://example.org/bundles", "is a web server and cannot be written to"),
        ("oci://localhost/a@sha256:" + "0" * 64, "Push to a tag"),
        ("nothing://x", "cannot be reached: Protocol not known: nothing"),
    ],
)
def test_push_refuses_read_only_places(target: str, message: str, stated_bundle: Path) -> None:
    with pytest.raises(InputError, match=message):
        push(stated_bundle, parse_place(target), on_upload=quiet)


def test_push_reports_a_full_disk(stated_bundle: Path, tmp_path: Path) -> None:
    layout = tmp_path / "layout"
    push(stated_bundle, parse_place(str(layout)), on_upload=quiet)
    (layout / "index.json").unlink()
    (layout / "blobs").rename(tmp_path / "gone")
    (layout / "blobs").symlink_to("/dev/full")
    with pytest.raises(BundleError, match="does not take the bundle: "):
        push(stated_bundle, parse_place(str(layout)), on_upload=quiet)
    assert not (layout / "index.json").exists()


@pytest.mark.slow("starts Debian's docker-registry")
@pytest.mark.skipif(REGISTRY is None or SKOPEO is None, reason="docker-registry or skopeo is not installed")
def test_nightly_release_is_pulled(stated_bundle: Path, keys: Path, tmp_path: Path) -> None:
    """A layout that skopeo copies to a registry, as the workflow does, keeps its digests and signature."""
    layout = parse_place(f"{tmp_path / 'layout'}#toy")
    pushed = push(stated_bundle, layout, read_signer(keys / "mine.pem"), on_upload=quiet)
    with debian_registry(tmp_path) as host:
        copy = [str(SKOPEO), "copy", "--preserve-digests", "--dest-tls-verify=false"]
        places = [f"oci:{tmp_path / 'layout'}:toy", f"docker://{host}/kokoro/nightly:toy"]
        subprocess.run([*copy, *places], check=True, capture_output=True)
        place = parse_place(f"oci://{host}/kokoro/nightly:toy")
        found = pull(place, tmp_path / "out", read_key(keys / "mine.pub"))
    assert found.digest == pushed.digest
