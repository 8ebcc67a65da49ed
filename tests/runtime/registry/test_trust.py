"""Signatures of bundles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from registries import FakeRegistry, state_provenance
from toy_bundle import edit_manifest

from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.publish.attestation import build_bill_of_materials, read_signer, sign
from kokoro_tvm.publish.push import push
from kokoro_tvm.runtime.bundle.manifest import read_bundle
from kokoro_tvm.runtime.registry.address import Repository, parse_place
from kokoro_tvm.runtime.registry.pull import pull
from kokoro_tvm.runtime.registry.trust import SBOM, SIGNED, key_ids, read_key, require_signature

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def signed(stated_bundle: Path, keys: Path) -> Path:
    """A pulled bundle, signed by mine.pem."""
    sbom = build_bill_of_materials(read_bundle(stated_bundle))
    provenance = (stated_bundle / "provenance.json").read_bytes()
    (stated_bundle / SBOM).write_bytes(sbom)
    (stated_bundle / SIGNED).write_bytes(sign(provenance, sbom, read_signer(keys / "mine.pem")))
    return stated_bundle


def place_of(registry: FakeRegistry) -> Repository:
    return parse_place(f"oci://{registry.host}/kokoro/cpu:night")  # type: ignore[return-value]


def test_pull_accepts_a_bundle_of_the_key(
    registry: FakeRegistry, stated_bundle: Path, keys: Path, pulled: Path
) -> None:
    push(stated_bundle, place_of(registry), read_signer(keys / "mine.pem"), on_upload=lambda layer: None)
    key = read_key(keys / "mine.pub")
    found = pull(place_of(registry), key=key)
    assert found.trusted == f"signed by the key {key.keyid[:16]}, which you named"
    assert key_ids(pulled / "toy") == [key.keyid]
    require_signature(pulled / "toy", key, "here")


@pytest.mark.parametrize(("signer", "name"), [(None, "unsigned"), ("other.pem", "another-key")])
def test_pull_refuses_other_signatures_before_download(
    signer: str | None, name: str, registry: FakeRegistry, stated_bundle: Path, keys: Path, pulled: Path
) -> None:
    by = read_signer(keys / signer) if signer else None
    push(stated_bundle, place_of(registry), by, on_upload=lambda layer: None)
    registry.requests.clear()
    key = read_key(keys / "mine.pub")
    with pytest.raises(BundleError) as refused:
        pull(place_of(registry), key=key)
    text = str(refused.value).replace(registry.host, "HOST").replace(key.keyid[:16], "MINE")
    other = read_key(keys / "other.pub").keyid[:16]
    assert text.replace(other, "OTHER") == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").strip()
    assert list(pulled.iterdir()) == []
    voices = read_bundle(stated_bundle).voices.sha256
    assert not any(voices in request for request in registry.requests)


def test_pull_without_a_key_names_the_authority(
    registry: FakeRegistry, stated_bundle: Path, keys: Path
) -> None:
    push(stated_bundle, place_of(registry), on_upload=lambda layer: None)
    assert (
        pull(place_of(registry)).trusted == f"not signed: the registry {registry.host} could have changed it"
    )
    push(stated_bundle, place_of(registry), read_signer(keys / "mine.pem"), on_upload=lambda layer: None)
    mine = read_key(keys / "mine.pub").keyid[:16]
    assert pull(place_of(registry)).trusted == (
        f"signed by {mine}, not by a key that you named: the registry {registry.host} could have changed it"
    )


def add_statement(folder: Path) -> None:
    """Replace a file by that of another signed bundle."""
    provenance = json.loads((folder / "provenance.json").read_bytes())
    provenance["subject"] = provenance["subject"][1:]
    (folder / "provenance.json").write_text(json.dumps(provenance))


def swap_payload(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / SIGNED).read_text().splitlines()]
    lines[0]["payload"], lines[1]["payload"] = lines[1]["payload"], lines[0]["payload"]
    (folder / SIGNED).write_text("\n".join(map(json.dumps, lines)))


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "the provenance was changed": (add_statement, "provenance.json of here is not signed by the key"),
    "the bill was changed": (
        lambda f: (f / SBOM).write_text((f / SBOM).read_text().replace("torch", "tortch")),
        "sbom.cdx.json of here is not signed by the key",
    ),
    "the bill is not signed": (
        lambda f: (f / SIGNED).write_text((f / SIGNED).read_text().splitlines()[0]),
        "sbom.cdx.json of here is not signed by the key",
    ),
    "payloads were swapped": (swap_payload, "provenance.json of here is not signed by the key"),
    "no signature": (lambda f: (f / SIGNED).unlink(), "here is not signed, but --trust demands it"),
    "no lines": (lambda f: (f / SIGNED).write_text("{"), "bundle.intoto.jsonl is no readable JSON"),
    "no envelopes": (lambda f: (f / SIGNED).write_text('{"a": 1}\n[]'), "signed by nobody"),
    "a signature that is an object": (
        lambda f: (f / SIGNED).write_text(
            '{"payload": "", "payloadType": "x", "signatures": [{"sig": {}, "keyid": "a"}]}'
        ),
        "signed by a",
    ),
    "no bill": (lambda f: (f / SBOM).write_text("[" * 100_000), "sbom.cdx.json is no readable JSON"),
    "signatures of nothing": (
        lambda f: (f / SIGNED).write_text('{"payload": "", "payloadType": "x", "signatures": [1]}'),
        "signed by nobody",
    ),
}


@pytest.mark.parametrize("case", SPOILED)
def test_require_signature_refuses_changes(case: str, signed: Path, keys: Path) -> None:
    spoil, message = SPOILED[case]
    key = read_key(keys / "mine.pub")
    require_signature(signed, key, "here")
    spoil(signed)
    with pytest.raises(BundleError, match=message):
        require_signature(signed, key, "here")


def test_require_signature_refuses_signatures_of_other_bundles(signed: Path, keys: Path) -> None:
    """The bundle's files with the signed statement of another bundle."""
    edit_manifest(signed, lambda manifest: manifest.update(precision="bfloat16"))
    state_provenance(signed)
    with pytest.raises(BundleError, match=r"provenance\.json of here is not signed"):
        require_signature(signed, read_key(keys / "mine.pub"), "here")


@pytest.mark.parametrize("content", [b"", b"ssh-ed25519 AAAA", b"-----BEGIN PUBLIC KEY-----\nAA==\n"])
def test_read_key_refuses_other_files(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"holds no public key as PEM. `openssl pkey -in KEY -pubout"):
        read_key(path)
    with pytest.raises(
        InputError, match=r"holds no private key as PEM .* `openssl genpkey -algorithm ed25519"
    ):
        read_signer(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_key(tmp_path / "none")


def test_bill_of_materials_is_valid_and_deterministic(stated_bundle: Path) -> None:
    bundle = read_bundle(stated_bundle)
    bill = build_bill_of_materials(bundle)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill.decode()) is None
    assert build_bill_of_materials(bundle) == bill
    found = json.loads(bill)
    assert "timestamp" not in found["metadata"]
    files = {c["name"]: c["hashes"][0]["content"] for c in found["metadata"]["component"]["components"]}
    provenance = json.loads((stated_bundle / "provenance.json").read_bytes())
    assert files == {s["name"]: s["digest"]["sha256"] for s in provenance["subject"]}
    assert "pkg:pypi/torch@2.13.0%2Bcpu" in {c.get("purl") for c in found["components"]}
