"""Whether somebody who is trusted signed a bundle: its provenance and its bill of materials.

Both are in-toto statements about the bundle's files, each in an envelope of its own, one a line of SIGNED.
Envelope: https://github.com/secure-systems-lab/dsse/blob/v1.0.2/envelope.md; lines:
https://github.com/in-toto/attestation/blob/main/spec/v1/bundle.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.runtime.bundle.provenance import FILE as PROVENANCE
from kokoro_tvm.runtime.bundle.provenance import STATEMENT_TYPE

if TYPE_CHECKING:
    from securesystemslib.signer import Key

__all__ = [
    "BOM_TYPE",
    "PAYLOAD_TYPE",
    "SBOM",
    "SIGNED",
    "bom_statement",
    "key_bytes",
    "key_ids",
    "read_key",
    "require_signature",
]

SIGNED = "bundle.intoto.jsonl"
SBOM = "sbom.cdx.json"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
BOM_TYPE = "https://cyclonedx.org/bom"


def bom_statement(provenance: dict[str, Any], sbom: dict[str, Any]) -> dict[str, Any]:
    """The statement that a bill of materials is that of the files which a provenance is about."""
    subject = provenance.get("subject")
    return {"_type": STATEMENT_TYPE, "subject": subject, "predicateType": BOM_TYPE, "predicate": sbom}


def read_key(path: Path) -> Key:
    """A public key, PEM: Ed25519, ECDSA or RSA. Raises InputError."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey

    try:
        return SSlibKey.from_crypto(load_pem_public_key(key_bytes(path)))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InputError(
            f"{path} holds no public key as PEM. `openssl pkey -in KEY -pubout -out {path}` writes one."
        ) from error


def key_bytes(path: Path) -> bytes:
    """The content of a key's file. Raises InputError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"The key {path} cannot be read ({error.strerror}). Name a file.") from error


def key_ids(folder: Path) -> list[str]:
    """Ids of the keys that signed the files in a folder, as they say; whether they did is not verified."""
    path = folder / SIGNED
    lines = _lines(path) if path.is_file() else []
    signatures = [s for line in lines if isinstance(found := line.get("signatures"), list) for s in found]
    ids = {str(each.get("keyid")) for each in signatures if isinstance(each, dict)}
    return sorted(each for each in ids if each.isascii() and each.isalnum())  # they are printed


def require_signature(folder: Path, key: Key, place: str) -> None:
    """Raises BundleError unless the key signed the provenance and the bill of materials in a folder, as they
    are. place: where they are from."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error

    path = folder / SIGNED
    if not path.is_file():
        raise BundleError(f"{place} is not signed, and --trust demands it. Nothing of it was kept.")
    provenance = _read_json(folder / PROVENANCE)
    wanted: dict[str, Any] = {PROVENANCE: provenance}
    if (folder / SBOM).is_file():
        wanted[SBOM] = bom_statement(provenance, _read_json(folder / SBOM))
    signed = []
    for line in _lines(path):
        try:
            envelope = Envelope.from_dict(line)
            envelope.verify([key], 1)
            signed.append(json.loads(envelope.payload))
        except (Error, LookupError, TypeError, ValueError, AttributeError, RecursionError):
            continue  # of another key, or of none: what this key has not signed is missing below
    for name, statement in wanted.items():
        if statement not in signed:
            others = ", ".join(each[:16] for each in key_ids(folder)) or "nobody"
            raise BundleError(
                f"{name} of {place} is not signed by the key {key.keyid[:16]}, which --trust names: it was "
                f"changed, or is from somebody else (signed by {others}). Nothing of it was kept."
            )


def _lines(path: Path) -> list[dict[str, Any]]:
    """The envelopes of a file. Raises BundleError where it is none of JSON lines."""
    try:
        found = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path.name} is no readable JSON ({error}). Push the bundle again.") from error
    return [line for line in found if isinstance(line, dict)]


def _read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises BundleError."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise BundleError(f"{path.name} is no readable JSON ({error}). Push the bundle again.") from error
    if not isinstance(content, dict):
        raise BundleError(f"{path.name} is no JSON object. Push the bundle again.")
    return content
