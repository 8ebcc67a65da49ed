"""Planning in JavaScript compared with Python, from Python's readings (planning.test.mjs)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import front_end_vectors
import pytest

from kokoro_tvm.runtime.text import abbreviations, scripts
from kokoro_tvm.web import WEB


def test_vectors_are_up_to_date(front_end_files: Path, tmp_path: Path) -> None:
    """`python tests/front_end_vectors.py` writes them after a change of the front end."""
    made = front_end_vectors.vectors(front_end_files / "front_end.safetensors", front_end_vectors.few_texts())
    front_end_vectors.write(tmp_path / "vectors.json", made)
    found = json.loads((tmp_path / "vectors.json").read_text(encoding="utf-8"))
    committed = json.loads(front_end_vectors.FILE.read_text(encoding="utf-8"))
    for name in ("texts", "readings"):
        ours, theirs = found.pop(name), committed.pop(name)
        assert [each for each in ours if each not in theirs] == []
        assert len(ours) == len(theirs)
    assert found == committed


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("node") is None, reason="no Node here: `node` is not installed")
def test_javascript_plans_thousands_of_texts_as_python(front_end_files: Path, tmp_path: Path) -> None:
    made = front_end_vectors.vectors(
        front_end_files / "front_end.safetensors", front_end_vectors.many_texts()
    )
    front_end_vectors.write(tmp_path / "many.json", made)
    command = ["node", "--test", str(Path(__file__).with_name("planning.test.mjs"))]
    environment = os.environ | {"VECTORS": str(tmp_path / "many.json")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    count = len(made["texts"])
    assert f"{count} of {count} texts are equal" in done.stdout


def test_abbreviations_match_python() -> None:
    words = (WEB / "abbreviation_words.js").read_text(encoding="utf-8").partition("export default ")[2]
    file = Path(abbreviations.__file__).with_suffix(".json")
    assert words == file.read_text(encoding="utf-8").rstrip() + ";\n"


def test_scripts_match_python() -> None:
    table = (WEB / "scripts.js").read_text(encoding="utf-8").partition("RANGES = ")[2].partition(";")[0]
    assert json.loads(table.replace("],\n]", "]\n]")) == [list(row) for row in scripts.RANGES]
