"""The real front end, fetched as a build fetches it, and a toy one in spaCy's and misaki's formats."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import srsly
import yaml

from kokoro_tvm.recipe.front_end import FrontEndSpec

REPOSITORY = Path(__file__).parents[1]
CHANNELS = 4
LABELS = ["NN", "VB", ".", "DT"]


def shipped() -> FrontEndSpec:
    """The front end of the shipped model recipe."""
    model = yaml.safe_load((REPOSITORY / "recipes" / "kokoro-82m.yaml").read_text(encoding="utf-8"))
    return FrontEndSpec.model_validate(model["front_end"], strict=False)


def toy_files() -> dict[str, dict[str, bytes]]:
    """ "tagger" and "lexicon" -> path -> content: four channels, four tags, seven words."""
    rng = np.random.default_rng(3)

    def node(name: str, **parameters: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"index": 0, "name": name}, parameters

    def drawn(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    nodes = [node("hashembed", E=drawn(rows, CHANNELS)) for rows in (7, 6, 5, 4, 3, 2)]
    for width in (6 * CHANNELS, *[3 * CHANNELS] * 4):
        nodes.append(node("maxout", W=drawn(CHANNELS, 3, width), b=drawn(CHANNELS, 3)))
        nodes.append(node("layernorm", G=drawn(CHANNELS), b=drawn(CHANNELS)))
    scores = [node("softmax", W=drawn(len(LABELS), CHANNELS), b=drawn(len(LABELS)))]
    tokenizer = {
        "prefix_search": r"^[\(\"]",
        "suffix_search": r"[\.,!\?\)\"]$",
        "infix_finditer": r"--",
        "token_match": None,
        "url_match": r"^https://\S+$",
        "exceptions": {"don't": [{65: "do"}, {65: "n't", 67: "not"}]},
    }
    gold = {"the": "ðə", "cat": "kˈæt", "sat": "sˈæt", "A": "ˈA", "B": "bˈi", "C": "sˈi"}
    tagger = {
        "tok2vec/model": _network(nodes),
        "tagger/model": _network(scores),
        "tagger/cfg": json.dumps({"labels": LABELS}).encode(),
        "tokenizer": srsly.msgpack_dumps(tokenizer),
        "vocab/lookups.bin": srsly.msgpack_dumps({"lexeme_norm": {2**63 + 5: "cat"}}),
    }
    words = {
        "us_gold": gold,
        "gb_gold": gold,
        "us_silver": {"mat": "mˈæt"},
        "gb_silver": {"mat": "mˈat"},
    }
    lexicon = {f"{name}.json": json.dumps(entries).encode() for name, entries in words.items()}
    return {"tagger": tagger, "lexicon": lexicon}


def _network(nodes: list[tuple[dict[str, Any], dict[str, Any]]]) -> bytes:
    content = {"nodes": [n for n, _ in nodes], "attrs": [], "params": [p for _, p in nodes], "shims": []}
    packed: bytes = srsly.msgpack_dumps(content)
    return packed


def zipped(files: dict[str, bytes], folder: str = "data") -> bytes:
    """An archive with the files in one folder."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{folder}/{name}", content)
    return out.getvalue()


def toy_front_end(folder: Path, files: dict[str, dict[str, bytes]] | None = None) -> dict[str, Any]:
    """`front_end` of a recipe whose archives are written to `folder`."""
    spec: dict[str, Any] = {}
    for part, content in (files or toy_files()).items():
        archive = zipped(content)
        (folder / f"{part}.zip").write_bytes(archive)
        spec[part] = {
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in content.items()},
            "sources": [
                {
                    "kind": "file",
                    "path": f"{part}.zip",
                    "sha256": hashlib.sha256(archive).hexdigest(),
                    "folder": "data",
                }
            ],
        }
    return spec
