"""Statements about a published bundle: provenance, a bill of materials, and signatures of both.

Whole utterances are judged after the bundle is built, so the provenance in the bundle does not have their
gates. `build_provenance` adds them, from the reports in the store beside the bundle. The bill of materials
(CycloneDX 1.6, https://cyclonedx.org/docs/1.6/json/) lists the same dependencies as the provenance, for tools
that look for vulnerable packages. Neither has a time, so that the same bundle gives the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.stages.provenance import gate_values, resource
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.bundle.provenance import FILE as PROVENANCE
from kokoro_tvm.runtime.bundle.provenance import read_provenance
from kokoro_tvm.runtime.registry.trust import PAYLOAD_TYPE, SBOM, SIGNED, bom_statement, key_bytes

if TYPE_CHECKING:
    from securesystemslib.signer import Signer

NOT_RUN = "urn:kokoro-tvm:gate:not-run"
_SPEECH = "speech.json"
_STAGES = {
    _SPEECH: "speech",
    "intelligibility.json": "intelligibility",
}  # that judge a bundle, by their reports
_PACKAGE = "pkg:"


def build_provenance(bundle: Bundle) -> bytes:
    """Return provenance.json as it is published: a bundle's, with its reports about utterances as byproducts.

    If utterances were not judged, the byproduct has NOT_RUN instead of a digest. The provenance of a pulled
    bundle has the byproducts already, and is returned unchanged.
    """
    text = (bundle.root / PROVENANCE).read_bytes()
    statement: dict[str, Any] = json.loads(text)
    byproducts = statement["predicate"]["runDetails"].setdefault("byproducts", [])
    if any(byproduct.get("name") == _SPEECH for byproduct in byproducts):
        return text
    store = Store(bundle.root.resolve().parent / ".store")
    for name, stage in _STAGES.items():
        report = _report(store, bundle, stage, name)
        if report is not None:
            byproducts.append(report)
        elif name == _SPEECH:
            why = bundle.not_run or "there is no report of it beside the bundle"
            values = {"passed": False, "gates": {}, "not_run": why}
            byproducts.append({"name": name, "uri": NOT_RUN, "annotations": values})
    return json.dumps(statement, indent=1, ensure_ascii=False).encode()


def _report(store: Store, bundle: Bundle, stage: str, name: str) -> dict[str, Any] | None:
    """Return a stage's report about exactly this bundle, as a resource; None if the stage was not run."""
    record = store.current(f"{bundle.recipe}.{stage}")
    if record is None or record.derivation.get("inputs", {}).get("bundle/bundle.json") != bundle.sha256:
        return None
    output = record.output(name)
    content = store.read(output, store.object(output.sha256))
    return None if content is None else resource(name, output.sha256, gate_values(json.loads(content)))


def build_bill_of_materials(bundle: Bundle) -> bytes:
    """Return the bill of materials: the bundle's files, their sources, and the packages of the toolchain."""
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.dependency import Dependency
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    provenance = read_provenance(bundle.root / PROVENANCE)

    def describe(name: str, value: str, kind: ComponentType) -> Component:
        """Return the component of a package URL, or of a file's SHA-256."""
        if value.startswith(_PACKAGE):
            url = PackageURL.from_string(value)
            return Component(name=url.name, version=url.version, purl=url, bom_ref=value, type=kind)
        digest = HashType(alg=HashAlgorithm.SHA_256, content=value)
        # The kind makes references unique: voices are a file of the bundle and a source. The library replaces
        # equal references by random ones.
        return Component(name=name, hashes=[digest], bom_ref=f"{kind.value}:{name}@{value}", type=kind)

    product = Component(
        name=bundle.recipe,
        version=bundle.version,
        type=ComponentType.MACHINE_LEARNING_MODEL,
        bom_ref=bundle.sha256,
    )
    product.components = [describe(n, v, ComponentType.FILE) for n, v in provenance.subjects.items()]
    parts = [
        describe(name, value, ComponentType.LIBRARY if value.startswith(_PACKAGE) else ComponentType.DATA)
        for name, value in provenance.dependencies.items()
    ]
    bom = Bom(
        serial_number=uuid5(NAMESPACE_URL, bundle.sha256),
        components=parts,
        dependencies=[Dependency(product.bom_ref, [Dependency(part.bom_ref) for part in parts])],
    )
    bom.metadata.component = product
    bom.metadata.timestamp = None  # type: ignore[assignment]  # optional in the schema
    return (JsonV1Dot6(bom).output_as_string(indent=1) + "\n").encode()


def build_statements(bundle: Bundle, signer: Signer | None) -> dict[str, bytes]:
    """Return the files of the statements by name, with signatures if there is a signer."""
    provenance, sbom = build_provenance(bundle), build_bill_of_materials(bundle)
    signed = {} if signer is None else {SIGNED: sign(provenance, sbom, signer)}
    return {PROVENANCE: provenance, SBOM: sbom, **signed}


def read_signer(key: Path) -> Signer:
    """Read a private key (PEM).

    Raises:
        InputError: The file has no private key, or one with a password.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    try:
        return CryptoSigner(load_pem_private_key(key_bytes(key), None))
    except (TypeError, ValueError, UnsupportedAlgorithm) as error:
        raise InputError(
            f"{key} holds no private key as PEM without a password. `openssl genpkey -algorithm ed25519 -out "
            f"{key}` makes one."
        ) from error


def sign(provenance: bytes, sbom: bytes, signer: Signer) -> bytes:
    """Sign provenance and bill of materials: return a DSSE envelope of each, one a line."""
    from securesystemslib.dsse import Envelope

    statement: dict[str, Any] = json.loads(provenance)
    bill = json.dumps(bom_statement(statement, json.loads(sbom)), ensure_ascii=False).encode()
    lines = []
    for payload in (provenance, bill):
        envelope = Envelope(payload, PAYLOAD_TYPE, {})
        envelope.sign(signer)
        lines.append(json.dumps(envelope.to_dict(), sort_keys=True))
    return "".join(f"{line}\n" for line in lines).encode()
