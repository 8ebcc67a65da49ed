"""`conformance.json`, texts with plans, notices and errors, against Python, C and WebAssembly."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import front_end_vectors
import pytest

from kokoro_tvm.native.libkokoro import compile_text
from kokoro_tvm.native.libkokoro.generated import numbers
from kokoro_tvm.native.toolchains.zig import WASI
from kokoro_tvm.web import WEB

PROGRAM = Path(__file__).parents[2] / "web" / "planning.mjs"
FILES = ["few", pytest.param("many", marks=pytest.mark.nightly)]


@pytest.fixture(scope="module")
def vectors(front_end_files: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function from "few" or "many" to a file of Python's plans of today."""
    folder = tmp_path_factory.mktemp("vectors")

    def write(name: str) -> Path:
        texts = front_end_vectors.few_texts() if name == "few" else front_end_vectors.many_texts()
        plans = front_end_vectors.vectors(front_end_files / "front_end.safetensors", texts)
        front_end_vectors.write(folder / f"{name}.json", plans)
        return folder / f"{name}.json"

    return write


def test_python_conforms(vectors: Callable[[str], Path]) -> None:
    """`python tests/front_end_vectors.py` writes the file after a change of the front end."""
    plans = json.loads(vectors("few").read_text(encoding="utf-8"))
    committed = json.loads(front_end_vectors.FILE.read_text(encoding="utf-8"))
    ours, theirs = plans.pop("texts"), committed.pop("texts")
    assert [each for each in ours if each not in theirs] == []
    assert len(ours) == len(theirs)
    assert plans == committed


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("portion", [0, 1, 7])
def test_c_conforms(
    vectors: Callable[[str], Path],
    text_program: Path,
    front_end_files: Path,
    name: str,
    portion: int,
) -> None:
    """The text comes at once, or in portions of so many characters."""
    file = front_end_vectors.FILE if name == "few" else vectors(name)
    whole = json.loads(file.read_text(encoding="utf-8"))
    model = " ".join(f"{ord(symbol):x} {number}" for symbol, number in whole["vocabulary"].items())
    limits = f"{whole['most']['tokens']} {whole['most']['frames']}"
    for code in "ab":
        texts = [vector for vector in whole["texts"] if vector["voice"] == whole["voices"]["ab".index(code)]]
        division = " ".join(map(str, whole["division"].values()))
        lines = [f"model:0.9 {limits} {model}", f"division:{division}"]
        for vector in texts:
            lines.append(f"markup:{portion}:" + " ".join(f"{ord(char):x}" for char in vector["text"]))
        command = [str(text_program), str(front_end_files / "front_end.safetensors"), code]
        done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr
        plans = [json.loads(line) for line in done.stdout.splitlines() if line]
        for vector, (pieces, notices) in zip(texts, plans, strict=True):
            assert _trim(pieces) == _trim(_pieces(vector["plan"])), vector["text"]
            assert notices == vector["notices"], vector["text"]


def _pieces(plan: Any) -> list[Any]:
    """Return a plan as the program prints it, without the checksum of its audio."""
    if isinstance(plan, dict):
        return [plan]
    pieces = []
    for piece in plan:
        _, noise, lead, tail, keep, pause, voice = piece["piece"]
        keep = [-1 if samples is None else samples for samples in keep]
        words = [piece[name] for name in ("before", "words", "after")]
        pieces.append([*words, [noise, lead, tail, keep, pause, voice]])
    return pieces


def _trim(pieces: list[Any]) -> list[Any]:
    """Return pieces without styles and checksums, or the error without the names of other voices."""
    if pieces and isinstance(pieces[-1], dict):
        return [re.sub(r"(There is no voice '.*?' in this bundle\.).*", r"\1", pieces[-1]["error"])]
    return [[*words, rest[-6:]] for *words, rest in (piece[:4] for piece in pieces)]


@pytest.fixture(scope="module")
def text_module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the module of a bundle for browsers."""
    if reason := WASI.check() or (None if shutil.which("node") else "no Node here"):
        pytest.skip(reason)
    target = tmp_path_factory.mktemp("module") / "text.wasm"
    compile_text(WASI, target)
    return target


@pytest.mark.slow("compiles WebAssembly with zig")
@pytest.mark.parametrize("name", FILES)
def test_javascript_conforms(
    vectors: Callable[[str], Path], text_module: Path, front_end_files: Path, name: str
) -> None:
    file = front_end_vectors.FILE if name == "few" else vectors(name)
    environment = os.environ | {
        "TEXT": str(text_module),
        "FRONT_END": str(front_end_files / "front_end.safetensors"),
        "VECTORS": str(file),
    }
    command = ["node", "--test", str(PROGRAM)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    count = len(json.loads(file.read_text(encoding="utf-8"))["texts"])
    assert f"{count} of {count} texts are equal" in done.stdout


def test_numbers_of_javascript_match_python() -> None:
    content = (WEB / "numbers.js").read_text(encoding="utf-8")
    theirs = {
        name: json.loads(value) for name, value in re.findall(r"(?m)^export const (\w+) = (.*);$", content)
    }
    ours = {name: list(value) if isinstance(value, tuple) else value for name, value in numbers()}
    assert len(theirs) == content.count("export")
    assert theirs == {name: ours[name] for name in theirs}


def test_abbreviations_of_javascript_match_python() -> None:
    """Captions of pages need them without text.wasm."""
    words = (WEB / "abbreviation_words.js").read_text(encoding="utf-8").partition("export default ")[2]
    file = WEB.parent / "runtime" / "text" / "abbreviations.json"
    assert words == file.read_text(encoding="utf-8").rstrip() + ";\n"
