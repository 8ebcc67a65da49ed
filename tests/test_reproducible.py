"""A bundle is the same, byte for byte, wherever and whenever it is made."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from toys import RECIPES, TARGET, doit, write_recipes

from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.targets import tools_for

OTHER = {"kind": "llvm", "mcpu": "cortex-a72", "mtriple": "aarch64-linux-gnu", "run": False}


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.nightly
def test_a_bundle_for_another_machine(tmp_path: Path) -> None:
    """From nothing, in two folders, one after the other."""
    made = []
    for folder in ("one", "in another/folder"):
        root = tmp_path / folder
        write_recipes(root)
        text = yaml.safe_dump(TARGET | RECIPES["toy"] | {"target": OTHER})
        (root / "recipes" / "arm.yaml").write_text(text, encoding="utf-8")
        target = load_recipe("arm", root / "recipes").target
        if reason := tools_for(target).toolchain().check():
            pytest.skip(reason)
        done = doit(root, "-n", "2", "arm")
        assert done.returncode == 0, done.stdout + done.stderr
        made.append(files_of(root / "artifacts" / "arm"))
    one, other = made
    assert {"bundle.json", "provenance.json", "libtvm_runtime.so", "decoder-130.so"} <= set(one)
    assert [name for name in sorted(one | other) if one.get(name) != other.get(name)] == []
