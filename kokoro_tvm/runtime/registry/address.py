"""Addresses that bundles are pulled from and pushed to.

    oci://HOST[:PORT]/REPOSITORY[:TAG | @sha256:HEX]   a registry
    https://HOST/PATH[#NAME]                           an OCI image layout on a web server
    hf://OWNER/REPOSITORY[@REVISION][/PATH][#NAME]     one in a repository of the Hugging Face hub
    DIR[#NAME], s3://BUCKET/PATH[#NAME]                one in a folder, or wherever fsspec reaches
    NAME                                               NAME in the place in KOKORO_TVM_REGISTRY, or a folder

A layout may hold several bundles; without NAME it must hold one.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from kokoro_tvm.common.errors import InputError

# Grammar of names, tags and digests: OCI distribution specification, v1.1, "Pulling manifests".
_NAME = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(
    rf"([^/@#?]+)/({_NAME}(?:/{_NAME})*)(?::([\w][\w.-]{{0,127}})|@(sha256:[0-9a-f]{{64}}))?"
)
_HUB = re.compile(r"hf://([^/@#]+/[^/@#]+)(?:@([^/#]+))?(?:/([^#]*))?")
_BARE = re.compile(r"[\w][\w.-]{0,127}")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Repository:
    """A bundle in a registry.

    Attributes:
        host: with its port, if any.
        name: of the repository.
        reference: a tag, or `sha256:` and the digest of a manifest.
    """

    host: str
    name: str
    reference: str

    def __str__(self) -> str:
        return f"oci://{self.host}/{self.name}{'@' if ':' in self.reference else ':'}{self.reference}"

    @property
    def url(self) -> str:
        """The base URL of its routes."""
        return f"{'http' if is_loopback(self.host) else 'https'}://{self.host}/v2/{self.name}"

    def named(self, name: str) -> Repository:
        """Return the same repository with another tag."""
        return replace(self, reference=name)


@dataclass(frozen=True)
class Layout:
    """A bundle in an OCI image layout.

    Attributes:
        place: path or URL of the layout.
        name: of the bundle, "" for the only one.
    """

    place: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.place}#{self.name}" if self.name else self.place

    def named(self, name: str) -> Layout:
        """Return the same layout with another bundle."""
        return replace(self, name=name)


def parse_source(text: str) -> Repository | Layout:
    """Parse the address of a bundle to pull; raises InputError, also for a NAME without a registry."""
    is_name = "/" not in text and "#" not in text and _BARE.fullmatch(text)
    place = os.environ.get("KOKORO_TVM_REGISTRY", "")
    if not is_name or (not place and Path(text).is_dir()):  # `push` writes to folders of such names
        return parse_place(text)
    if not place:
        raise InputError(
            f"{text} is the name of a bundle, and KOKORO_TVM_REGISTRY does not say in which registry. "
            "Set it, such as to oci://ghcr.io/OWNER/REPOSITORY, or write the whole address. There is no "
            f"folder {text} here."
        )
    return parse_place(place).named(text)


def parse_place(text: str) -> Repository | Layout:
    """Parse the address of a registry or a layout; raises InputError."""
    if text.startswith("oci://"):
        return _parse_repository(text)
    place, _, name = text.partition("#")
    if name and not _BARE.fullmatch(name):
        raise InputError(f"{name!r} in {text} is no name of a bundle: use letters, digits, `.`, `_` and `-`.")
    if place.startswith("hf://"):
        place = _hub_url(place)
    if place.startswith("http://") and not is_loopback(urlsplit(place).netloc):
        raise InputError(
            f"{text} is not encrypted: anyone on the way could hand over code that this machine then runs. "
            "Use https."
        )
    if not place:
        raise InputError("An address is empty. Write oci://HOST/REPOSITORY:TAG, a URL, or a folder.")
    return Layout(place.rstrip("/") or "/", name)


def is_loopback(host: str) -> bool:
    """Return whether a host, with its port, is this machine, where http is as good as https."""
    return urlsplit(f"//{host}").hostname in _LOOPBACK


def _parse_repository(text: str) -> Repository:
    match = _REPOSITORY.fullmatch(text.removeprefix("oci://"))
    if match is None:
        raise InputError(
            f"{text} is no address of a registry. Write oci://HOST/REPOSITORY:TAG, in small letters, or "
            "oci://HOST/REPOSITORY@sha256:DIGEST."
        )
    host, name, tag, digest = match.groups()
    return Repository(host, name, digest or tag or "latest")


def _hub_url(text: str) -> str:
    """Return the URL of a folder of the Hugging Face hub."""
    match = _HUB.fullmatch(text)
    if match is None:
        raise InputError(f"{text} is no address on the hub. Write hf://OWNER/REPOSITORY/PATH.")
    repository, revision, path = match.groups()
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    return f"{endpoint}/{repository}/resolve/{revision or 'main'}/{path or ''}".rstrip("/")
