"""Inputs: arguments, digests in the key, edges of the graph, and the check for undeclared files."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_stages import stage_in
from safetensors.numpy import save_file

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.common.errors import BuildError


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Stage]:
    """Return a function that creates stages; each writes files named after it."""

    def make(name: str, function: str = "several", **fields: object) -> Stage:
        folder = tmp_path / "artifacts"
        files = (f"{name}.a", f"{name}.b")
        written: dict[str, object] = {"outputs": files, "parameters": {"files": list(files)}}
        return stage_in(folder, name, function, **(written | fields))

    return make


NAMES = st.dictionaries(
    st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3})?", fullmatch=True),
    st.tuples(st.sampled_from(["one", "two"]), st.sampled_from(["a", "b"])),
)


@given(declared=NAMES)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_inputs_become_arguments_digests_and_edges(
    declared: dict[str, tuple[str, str]], two_stages: dict[str, Stage], last: Stage
) -> None:
    inputs = {name: (two_stages[stage], f"{stage}.{end}") for name, (stage, end) in declared.items()}
    last = replace(last, inputs=inputs)
    assert {s.name for s in last.after} == {f"cpu.{stage}" for stage, _ in declared.values()}
    assert len(last.after) == len({s.name for s in last.after})
    digests = {name: stage.sha256(file) for name, (stage, file) in inputs.items()}
    assert last.derivation()["inputs"] == digests
    if last.state().kind != "current":
        last.run()
    data = json.loads(last.path("out.txt").read_text())
    assert list(data) == list(declared)
    for name, (stage, end) in declared.items():
        assert data[name] == [str(two_stages[stage].path(f"{stage}.{end}")), digests[name], f"{stage}.{end}"]


@pytest.fixture
def two_stages(make: Callable[..., Stage]) -> dict[str, Stage]:
    """Return two stages that are built."""
    results = {name: make(name) for name in ("one", "two")}
    for stage in results.values():
        stage.run()
    return results


@pytest.fixture
def last(make: Callable[..., Stage]) -> Stage:
    """Return a stage that writes a list of its inputs."""
    return make("last", "listing", outputs=("out.txt",), parameters={})


def test_key_ignores_stages_without_inputs(make: Callable[..., Stage], last: Stage) -> None:
    waiting = replace(last, waits=(make("one"),))
    assert [s.name for s in waiting.after] == ["cpu.one"]
    assert waiting.key() == last.key()


def test_group_keeps_the_order_of_members() -> None:
    inputs = Inputs({"x": ("/x", "0"), "g/b": ("/f/2", "1"), "g/a": ("/f/1", "2"), "gg/c": ("/h/3", "3")})
    assert list(inputs.group("g").items()) == [("b", Path("/f/2")), ("a", Path("/f/1"))]
    assert inputs.group("x") == {}
    assert inputs.folder("g") == Path("/f")
    assert (inputs.sha256("g/a"), inputs["g/a"], len(inputs)) == ("2", Path("/f/1"), 4)
    with pytest.raises(ValueError):
        Inputs({"g/a": ("/f/1", ""), "g/b": ("/h/2", "")}).folder("g")


class Files:
    """Return a file of the given kind in the project's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def of(self, manner: str) -> Path:
        path = self.folder / "other"
        if manner == "dlopen":
            library = next(Path(sys.base_prefix, "lib").rglob("libpython3*.so*"), None) or _a_library()
            shutil.copy(library, path)
        elif manner == "safetensors":
            save_file({"a": np.zeros(4096, np.float32)}, path)
        else:
            path.write_text("content", encoding="utf-8")
        return path


def _a_library() -> Path:
    """Return a library that this process has loaded."""
    maps = Path("/proc/self/maps")
    if not maps.is_file():
        pytest.skip("needs /proc/self/maps, to find a library")
    result = re.findall(r"(/\S+/libz\S*\.so\S*|/\S+/libm\S*\.so\S*)", maps.read_text())
    return Path(result[0])


MANNERS = ["python", "swallowed", "dlopen", "safetensors"]
LINUX = {"safetensors"}  # what maps without Python's knowing is found there alone


@pytest.mark.parametrize("manner", MANNERS)
def test_only_refuses_undeclared_files(make: Callable[..., Stage], tmp_path: Path, manner: str) -> None:
    if manner in LINUX and sys.platform != "linux":
        pytest.skip("needs /proc/self/maps")
    path = Files(tmp_path / "artifacts" / "elsewhere").of(manner)
    reading = make("reading", "peek", outputs=("out.txt",), parameters={"path": str(path), "manner": manner})
    with pytest.raises(BuildError) as caught:
        reading.run()
    assert str(caught.value) == (
        f"cpu.reading: it opened {path}, which is none of its inputs; declare it in the stage's `inputs`. "
        f"Its log is {reading.log_path}."
    )
    assert reading.previous() is None


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("place", ["elsewhere", "input", "cache", "link"])
def test_only_allows_inputs_and_files_outside(
    make: Callable[..., Stage], tmp_path: Path, manner: str, place: str
) -> None:
    """A file outside, one of the stage's cache, an input, and a link to the input."""
    inputs, cache = {}, None
    if place in ("elsewhere", "cache"):
        folder = tmp_path / "elsewhere" if place == "elsewhere" else tmp_path / "artifacts" / "kept"
        path = Files(folder).of(manner)
        cache = folder if place == "cache" else None
    else:
        copying = make("one", "copy", outputs=("copy",), parameters={})
        original = Files(tmp_path / "original").of(manner)
        copying = replace(copying, settings=lambda: {"path": str(original)})
        copying.run()
        inputs, path = {"copy": (copying, "copy")}, copying.path("copy")
        if place == "link":
            path = tmp_path / "link"
            path.symlink_to(copying.path("copy"))
    parameters = {"path": str(path), "manner": manner}
    reading = make("reading", "peek", outputs=("out.txt",), parameters=parameters, inputs=inputs, cache=cache)
    assert reading.run() == "built"
    assert reading.path("out.txt").read_text() == manner


def test_only_refuses_links_to_undeclared_files(make: Callable[..., Stage], tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(Files(tmp_path / "artifacts" / "elsewhere").of("python"))
    parameters = {"path": str(link), "manner": "python"}
    with pytest.raises(BuildError, match="artifacts/elsewhere/other, which is none of its inputs"):
        make("reading", "peek", outputs=("out.txt",), parameters=parameters).run()
