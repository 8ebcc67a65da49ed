"""Code signatures of Mach-O files: digests of every page, whoever signed."""

from __future__ import annotations

import hashlib
import struct

_MACHO_64, _CODE_SIGNATURE = 0xFEEDFACF, 0x1D
_SUPER_BLOB, _CODE_DIRECTORY = 0xFADE0CC0, 0xFADE0C02
_SHA256 = 2
_ADHOC = 0x2


def check_signature(content: bytes) -> None:
    """Compare every page of a Mach-O file with its ad-hoc signature.

    Format: <kern/cs_blobs.h> of Apple's xnu.

    Raises:
        ValueError: A page differs, or a part of the signature is missing.
    """
    try:
        _check_directories(content)
    except struct.error as error:
        raise ValueError("it is cut short") from error


def _check_directories(content: bytes) -> None:
    """Find the signature and check each of its code directories. Raises ValueError or struct.error."""
    magic, _, _, _, commands = struct.unpack_from("<5I", content)
    if magic != _MACHO_64:
        raise ValueError("it is no Mach-O file of 64 bits")
    start, at = None, 32
    for _ in range(commands):
        command, size = struct.unpack_from("<2I", content, at)
        if command == _CODE_SIGNATURE:
            (start,) = struct.unpack_from("<I", content, at + 8)
        at += size
    if start is None:
        raise ValueError("it has no signature, and macOS on Apple's processors loads no such file")
    magic, _, blobs = struct.unpack_from(">3I", content, start)
    if magic != _SUPER_BLOB:
        raise ValueError("its signature is damaged")
    places = [start + struct.unpack_from(">2I", content, start + 12 + 8 * i)[1] for i in range(blobs)]
    directories = [at for at in places if struct.unpack_from(">I", content, at)[0] == _CODE_DIRECTORY]
    if not directories:
        raise ValueError("its signature has no directory of its code")
    for at in directories:
        _check_pages(content, at, start)


def _check_pages(content: bytes, at: int, end: int) -> None:
    """Compare the content with the digests of the code directory at `at`, whose signature begins at `end`.

    Raises ValueError.
    """
    _, _, _, flags, digests, _, _, pages, limit = struct.unpack_from(">9I", content, at)
    size, kind, _, page_bits = struct.unpack_from("4B", content, at + 36)
    if kind != _SHA256 or size != hashlib.sha256().digest_size:
        raise ValueError(f"its signature has digests of kind {kind}, and only SHA-256 is known")
    if not flags & _ADHOC:
        raise ValueError("it is not signed ad hoc")
    page = 1 << page_bits
    if limit != end or pages != -(-limit // page):
        raise ValueError(f"its signature is about {limit} bytes of {end}")
    for number in range(pages):
        digest = hashlib.sha256(content[number * page : min((number + 1) * page, limit)]).digest()
        place = at + digests + number * size
        if digest != content[place : place + size]:
            raise ValueError(f"page {number} of {pages} differs from its signature")
