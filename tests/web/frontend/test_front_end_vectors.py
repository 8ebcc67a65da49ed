"""The JavaScript of web/ normalizes, reads and plans texts as Python does. Skipped where there is no Node."""

from __future__ import annotations

import html.entities
import json
import os
import random
import shutil
import subprocess
import unicodedata
from pathlib import Path

import front_end_vectors
import pytest
import unicode_names
from misaki_languages import sentences

from kokoro_tvm.javascript import WEB
from kokoro_tvm.model.front_end.sound_rules import sound_languages
from kokoro_tvm.runtime.text import abbreviations
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.normalization import LANGUAGE_FILES, normalize
from kokoro_tvm.runtime.text.frontend.normalization.language import Language
from kokoro_tvm.runtime.text.frontend.source import SourceText

HERE = Path(__file__).parent
SOUNDS = front_end_vectors.CASES.with_name("sounds.tsv")
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
def test_javascript_normalizes_as_python(front_end_files: Path, tmp_path: Path) -> None:
    """Words, their places and notices, in every language that has a file of written forms."""
    path = front_end_files / "front_end.safetensors"
    file = FrontEndFile.open(path)
    rows = []
    for code, name in LANGUAGE_FILES.items():
        if (forms := file.forms(name)) is not None:
            language = Language(forms, code)
            for text in front_end_vectors.texts_of(name):
                normal = normalize(SourceText.of(text), language, code in "ab")
                source = normal.source
                rows.append([code, name, text, source.text, source.starts, source.ends, normal.notices])
    (tmp_path / "normal.json").write_text(json.dumps(rows), encoding="utf-8")
    printed = node_test("normalization.test.mjs", NORMAL=tmp_path / "normal.json", FRONT_END=path)
    assert f"{len(rows)} of {len(rows)} texts are equal" in printed


@needs_node
def test_javascript_reads_by_rules_as_python(front_end_files: Path, tmp_path: Path) -> None:
    """Words, their places, phonemes and notices, in every language that has rules of letter-to-sound."""
    path = front_end_files / "front_end.safetensors"
    front_end = FrontEnd(FrontEndFile.open(path))
    words = [line.split("\t") for line in SOUNDS.read_text(encoding="utf-8").splitlines()]
    rows = []
    for code, name in LANGUAGE_FILES.items():
        if name not in sound_languages():
            continue
        known = [*sentences(code), *(text for language, text, _ in words if language == name)]
        draw = random.Random(name)
        parts = [*" ".join(known).split(), *"abcñçßŁ'’-«»(…!"]
        drawn = ["".join(draw.choice(parts) + draw.choice(("", " ")) for _ in range(9)) for _ in range(40)]
        for text in [*known, *drawn]:
            with front_end_vectors.without_espeak():
                reading = front_end.read(SourceText.of(text), code)
            tokens = [token for utterance in reading.utterances for token in utterance.tokens]
            found = [[t.text, t.start, t.end, t.phonemes, t.space, t.origin] for t in tokens]
            rows.append([code, text, found, [*map(front_end_vectors.message, reading.notices)]])
    (tmp_path / "read.json").write_text(json.dumps(rows), encoding="utf-8")
    printed = node_test("sounds.test.mjs", READ=tmp_path / "read.json", FRONT_END=path)
    assert f"{len(rows)} of {len(rows)} texts are equal" in printed


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


def test_the_page_knows_the_same_abbreviations() -> None:
    words = (WEB / "abbreviation_words.js").read_text(encoding="utf-8").partition("export default ")[2]
    file = Path(abbreviations.__file__).with_suffix(".json")
    assert words == file.read_text(encoding="utf-8").rstrip() + ";\n"
