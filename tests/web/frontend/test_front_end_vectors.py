"""The JavaScript of web/ reads and plans texts as Python does. Skipped where there is no Node."""

from __future__ import annotations

import html.entities
import json
import os
import shutil
import subprocess
import unicodedata
from pathlib import Path

import front_end_vectors
import pytest
import unicode_names

HERE = Path(__file__).parent
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no Node here: `node` is not installed")


def node_test(file: str, **variables: Path) -> str:
    """What `node --test` prints of a file; fails where a test of it does."""
    assert NODE is not None
    environment = os.environ | {name: str(path) for name, path in variables.items()}
    command = [NODE, "--test", str(HERE / file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_node
def test_strings_and_patterns() -> None:
    node_test("python.test.mjs")


@needs_node
def test_javascript_makes_the_vectors(front_end_files: Path) -> None:
    file = front_end_files / "front_end.safetensors"
    printed = node_test("vectors.test.mjs", VECTORS=front_end_vectors.FILE, FRONT_END=file)
    count = len(json.loads(front_end_vectors.FILE.read_text(encoding="utf-8"))["texts"])
    assert f"{count} of {count} texts are equal" in printed


def test_python_makes_the_vectors(front_end_files: Path, tmp_path: Path) -> None:
    """`python tests/front_end_vectors.py` writes them again after a change of the front end."""
    made = front_end_vectors.vectors(front_end_files / "front_end.safetensors", front_end_vectors.few_texts())
    front_end_vectors.write(tmp_path / "vectors.json", made)
    found = json.loads((tmp_path / "vectors.json").read_text(encoding="utf-8"))
    committed = json.loads(front_end_vectors.FILE.read_text(encoding="utf-8"))
    different = [
        ours["text"]
        for ours, theirs in zip(found.pop("texts"), committed.pop("texts"), strict=True)
        if ours != theirs
    ]
    assert different == []
    assert found == committed


@needs_node
@pytest.mark.nightly
def test_javascript_makes_thousands(front_end_files: Path, tmp_path: Path) -> None:
    file = front_end_files / "front_end.safetensors"
    texts = front_end_vectors.many_texts()
    made = front_end_vectors.vectors(file, texts)
    front_end_vectors.write(tmp_path / "many.json", made)
    printed = node_test("vectors.test.mjs", VECTORS=tmp_path / "many.json", FRONT_END=file)
    count = len(made["texts"])
    assert f"{count} of {count} texts are equal" in printed


def test_the_names_are_those_of_python() -> None:
    if f"Unicode {unicodedata.unidata_version} " not in unicode_names.FILE.read_text(encoding="utf-8"):
        pytest.skip(f"this Python has other names: those of Unicode {unicodedata.unidata_version}")
    assert len(html.entities.html5) > 2000
    assert unicode_names.FILE.read_text(encoding="utf-8") == unicode_names.text()
