"""What is stated about a bundle that leaves: its provenance with the gates that judged it as a whole, a bill
of materials, and signatures of both.

Those gates come after the bundle, so that what the build puts into it cannot have them. Their reports are
found by the digest of the bundle that they are about, in the store beside it. The bill (CycloneDX 1.6,
https://cyclonedx.org/docs/1.6/json/) lists what the provenance does, for tools that look for packages and
their faults. Neither has a time: the same bundle gives the same bytes.
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

__all__ = ["NOT_RUN", "bill_of_materials", "provenance_with_gates", "read_signer", "sign", "statements"]

NOT_RUN = "urn:kokoro-tvm:gate:not-run"
_SPEECH = "speech.json"
_LATER = {_SPEECH: "speech", "intelligibility.json": "intelligibility"}
"""Reports of stages that read a bundle; the second is of recipes with a gate for it."""
_PACKAGE = "pkg:"


def provenance_with_gates(bundle: Bundle) -> bytes:
    """The content of a bundle's provenance.json, with the reports of what judged all of it as byproducts.

    Whole utterances that nobody has judged are named as well, with NOT_RUN in the place of a digest. A
    statement that has them, of a bundle that was pulled, stays as it is.
    """
    text = (bundle.root / PROVENANCE).read_bytes()
    statement: dict[str, Any] = json.loads(text)
    byproducts = statement["predicate"]["runDetails"].setdefault("byproducts", [])
    if any(byproduct.get("name") == _SPEECH for byproduct in byproducts):
        return text
    store = Store(bundle.root.resolve().parent / ".store")
    for name, stage in _LATER.items():
        found = _report(store, bundle, stage, name)
        if found is not None:
            byproducts.append(found)
        elif name == _SPEECH:
            why = bundle.not_run or "there is no report of it beside the bundle"
            values = {"passed": False, "gates": {}, "not_run": why}
            byproducts.append({"name": name, "uri": NOT_RUN, "annotations": values})
    return json.dumps(statement, indent=1, ensure_ascii=False).encode()


def _report(store: Store, bundle: Bundle, stage: str, name: str) -> dict[str, Any] | None:
    """What a stage says of exactly this bundle, as a resource; None where it was not run."""
    record = store.current(f"{bundle.recipe}.{stage}")
    if record is None or record.derivation.get("inputs", {}).get("bundle/bundle.json") != bundle.sha256:
        return None
    output = record.output(name)
    content = store.read(output, store.object(output.sha256))
    return None if content is None else resource(name, output.sha256, gate_values(json.loads(content)))


def bill_of_materials(bundle: Bundle) -> bytes:
    """The bill of a bundle: its files, what they were made of, and the packages that made them."""
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.dependency import Dependency
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    provenance = read_provenance(bundle.root / PROVENANCE)

    def described(name: str, value: str, kind: ComponentType) -> Component:
        if value.startswith(_PACKAGE):
            url = PackageURL.from_string(value)
            return Component(name=url.name, version=url.version, purl=url, bom_ref=value, type=kind)
        digest = HashType(alg=HashAlgorithm.SHA_256, content=value)
        # With its kind: voices are a file of the bundle and what it was made of, and a reference that comes
        # twice is replaced by a random one.
        return Component(name=name, hashes=[digest], bom_ref=f"{kind.value}:{name}@{value}", type=kind)

    made = Component(
        name=bundle.recipe,
        version=bundle.version,
        type=ComponentType.MACHINE_LEARNING_MODEL,
        bom_ref=bundle.sha256,
    )
    made.components = [described(n, v, ComponentType.FILE) for n, v in provenance.subjects.items()]
    parts = [
        described(name, value, ComponentType.LIBRARY if value.startswith(_PACKAGE) else ComponentType.DATA)
        for name, value in provenance.dependencies.items()
    ]
    bom = Bom(
        serial_number=uuid5(NAMESPACE_URL, bundle.sha256),
        components=parts,
        dependencies=[Dependency(made.bom_ref, [Dependency(part.bom_ref) for part in parts])],
    )
    bom.metadata.component = made
    bom.metadata.timestamp = None  # type: ignore[assignment]  # the schema has it as an option
    return (JsonV1Dot6(bom).output_as_string(indent=1) + "\n").encode()


def statements(bundle: Bundle, signer: Signer | None) -> dict[str, bytes]:
    """Provenance with all gates, and bill of materials, by the names of their files; signatures of both, if
    somebody signs."""
    provenance, sbom = provenance_with_gates(bundle), bill_of_materials(bundle)
    signed = {} if signer is None else {SIGNED: sign(provenance, sbom, signer)}
    return {PROVENANCE: provenance, SBOM: sbom, **signed}


def read_signer(key: Path) -> Signer:
    """Who signs with a private key (PEM), whose file is read once. Raises InputError for what is no key."""
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
    """Envelopes of a bundle's provenance and its bill, one a line."""
    from securesystemslib.dsse import Envelope

    statement: dict[str, Any] = json.loads(provenance)
    bill = json.dumps(bom_statement(statement, json.loads(sbom)), ensure_ascii=False).encode()
    lines = []
    for payload in (provenance, bill):
        envelope = Envelope(payload, PAYLOAD_TYPE, {})
        envelope.sign(signer)
        lines.append(json.dumps(envelope.to_dict(), sort_keys=True))
    return "".join(f"{line}\n" for line in lines).encode()
