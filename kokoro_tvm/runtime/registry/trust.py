"""Signatures of a bundle's provenance and bill of materials.

Both are in-toto statements about the bundle's files, each in a DSSE envelope, one per line of SIGNED.
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


SIGNED = "bundle.intoto.jsonl"
SBOM = "sbom.cdx.json"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
BOM_TYPE = "https://cyclonedx.org/bom"


def bom_statement(provenance: dict[str, Any], sbom: dict[str, Any]) -> dict[str, Any]:
    """Return the statement of a bill of materials about the files of a provenance."""
    subject = provenance.get("subject")
    return {"_type": STATEMENT_TYPE, "subject": subject, "predicateType": BOM_TYPE, "predicate": sbom}


def read_key(path: Path) -> Key:
    """Read a public key, PEM: Ed25519, ECDSA or RSA; raises InputError."""
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
    """Read a key's file; raises InputError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"The key {path} cannot be read ({error.strerror}). Name a file.") from error


def key_ids(folder: Path) -> list[str]:
    """Return the ids of the keys that claim to have signed a folder; nothing is verified."""
    path = folder / SIGNED
    lines = _lines(path) if path.is_file() else []
    lists = (line.get("signatures") for line in lines)
    signatures = [signature for items in lists if isinstance(items, list) for signature in items]
    ids = {str(signature.get("keyid")) for signature in signatures if isinstance(signature, dict)}
    return sorted(key_id for key_id in ids if key_id.isascii() and key_id.isalnum())  # they are printed


def require_signature(folder: Path, key: Key, place: str) -> None:
    """Check that a key signed the provenance and the bill of materials in a folder.

    Args:
        folder: of the bundle.
        key: public.
        place: of the source, for messages.

    Raises:
        BundleError: the bundle is not signed, not by the key, or was changed.
    """
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error

    path = folder / SIGNED
    if not path.is_file():
        raise BundleError(f"{place} is not signed, but --trust demands it. Nothing was installed.")
    provenance = _read_json(folder / PROVENANCE)
    expected: dict[str, Any] = {PROVENANCE: provenance}
    if (folder / SBOM).is_file():
        expected[SBOM] = bom_statement(provenance, _read_json(folder / SBOM))
    signed = []
    for line in _lines(path):
        try:
            envelope = Envelope.from_dict(line)
            envelope.verify([key], 1)
            signed.append(json.loads(envelope.payload))
        except (Error, LookupError, TypeError, ValueError, AttributeError, RecursionError):
            continue  # signed by another key or damaged: its statement is missing below
    for name, statement in expected.items():
        if statement not in signed:
            others = ", ".join(key_id[:16] for key_id in key_ids(folder)) or "nobody"
            raise BundleError(
                f"{name} of {place} is not signed by the key {key.keyid[:16]}, which --trust names: it was "
                f"changed, or is from somebody else (signed by {others}). Nothing was installed."
            )


def _lines(path: Path) -> list[dict[str, Any]]:
    """Read the envelopes of a file; raises BundleError unless it is JSON lines."""
    try:
        envelopes = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path.name} is no readable JSON ({error}). Push the bundle again.") from error
    return [line for line in envelopes if isinstance(line, dict)]


def _read_json(path: Path) -> dict[str, Any]:
    """Read the JSON object in a file; raises BundleError."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise BundleError(f"{path.name} is no readable JSON ({error}). Push the bundle again.") from error
    if not isinstance(content, dict):
        raise BundleError(f"{path.name} is no JSON object. Push the bundle again.")
    return content
