"""The toy for WebAssembly, built once for all tests, and its site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkout import RECIPES, graph_of, lend
from chromium import chromium
from hosting import QuietHandler, listening
from sharing import once
from toys import RECIPES as TOYS
from toys import copy_repository, doit

from kokoro_tvm.publish.site import write_site
from kokoro_tvm.recipe import RecipeIndex


@pytest.fixture(scope="session")
def bundle(toy_root: Path, shared_folder: Path) -> Path:
    """Return the shipped recipe `wasm` of the toy with the real front end."""
    root = shared_folder / "wasm"
    with once(shared_folder / "wasm-built") as first:
        if first:
            copy_repository(toy_root, root)
            write_toy(root, "wasm")
            model = root / "recipes" / "toy-model.yaml"
            read = yaml.safe_load((RECIPES / "kokoro-82m.yaml").read_text(encoding="utf-8"))["front_end"]
            content = yaml.safe_load(model.read_text(encoding="utf-8")) | {"front_end": read}
            model.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
            shipped = graph_of("wasm")
            for stage in (shipped.front_end, shipped.runtime):
                lend(stage, root)
            done = doit(root, "-n", "2", "wasm")
            assert done.returncode == 0, done.stdout + done.stderr
            assert len(re.findall(r"(?:front_end|libtvm) +restored", done.stdout)) == 2, done.stdout
    return root / "artifacts" / "wasm"


@pytest.fixture(scope="session")
def gpu_bundle(bundle: Path, shared_folder: Path) -> Path:
    """Return the shipped recipe `webgpu` of the toy."""
    root = bundle.parents[1]
    with once(shared_folder / "webgpu-built") as first:
        if first:
            write_toy(root, "webgpu")
            done = doit(root, "-n", "2", "webgpu")
            assert done.returncode == 0, done.stdout + done.stderr
    return root / "artifacts" / "webgpu"


def write_toy(root: Path, name: str) -> None:
    """Write a shipped recipe of the toy."""
    index = RecipeIndex([RECIPES])
    raw = index.find(name)
    assert raw is not None
    recipe = index.resolve(raw).data()
    del recipe["utterances"]  # the toy has one
    text = yaml.safe_dump(recipe | TOYS["toy"] | {"model": "toy-model"})
    (root / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a browser that plays sound without a click."""
    with chromium("--autoplay-policy=no-user-gesture-required") as opened:
        yield opened


@pytest.fixture(scope="session")
def site_folder(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output of `kokoro-tvm web`."""
    folder = tmp_path_factory.mktemp("site") / "site"
    write_site(bundle, folder)
    return folder


@pytest.fixture(scope="session")
def site(site_folder: Path) -> Iterator[str]:
    """Return the address of the site."""
    with listening(partial(QuietHandler, directory=str(site_folder))) as address:
        yield address
