"""What every test shares: the markers, the workers, and the toy, which is built once for all of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import examples
import gpus_at_hand
import pytest
import tiers
from checkout import ROOT, graph_of
from sharing import once
from toys import copy_repository, doit, write_recipes

from kokoro_tvm.builder.engine.resources import usable_memory_gb
from kokoro_tvm.common.packages import install_stock_packages
from kokoro_tvm.runtime.threads import usable_cores

pytest_plugins = ["fake_bundles"]

WORKER_MEMORY_GB = 4.0  # what the largest test takes, with the real weights
# A file is run by one worker, so the files that take longest begin first; the others follow as collected, and
# what speaks with the bundle that the first one builds comes last.
LONGEST = (
    *("test_speaks.py", "test_portable.py", "test_on_gpu.py", "test_tiny.py", "web/test_wasm_bundle.py"),
    # Of the default tier: while one worker makes the toy, the other one makes the front end. As the last ones
    # they would keep one worker busy while the other has no file left.
    *(
        "native/libkokoro/test_english_from_c.py",
        "validation/reference/test_stock.py",
        "test_static.py",
    ),
    *("compiler/test_export.py", "validation/measure/test_e2e.py", "builder/test_reference_store.py"),
)
LAST = "native/libkokoro/test_speak.py"

CHILDREN = Path(__file__).parent / "children"  # what tests run in other processes
# PyTorch's and numpy's threads that wait by spinning take the cores that another worker computes on. They
# look at this when they are imported, which a folder's conftest.py does before `pytest_configure`.
os.environ.update({"OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1"})


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # once, not by each worker
        install_stock_packages()
    sys.path.insert(0, str(CHILDREN))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(CHILDREN), os.environ.get("PYTHONPATH")]))
    config.option.markexpr = tiers.selection(config.option.markexpr)
    tiers.hide_slow_packages(config.option.markexpr)
    examples.choose(config.option.markexpr)
    for name in [name for name in os.environ if name.startswith("KOKORO_TVM_")]:
        del os.environ[name]  # what tests build is built, whatever cache the caller uses
    # Containers often forbid bytecode: each of hundreds of processes would compile what it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # No bundle that the caller pulled speaks in a test.
    os.environ["XDG_DATA_HOME"] = str(Path(gettempdir(), "kokoro-tvm-nothing-pulled"))
    config.addinivalue_line(
        "markers",
        "weights: needs the real weights; builds what it needs of them in this checkout with doit",
    )
    config.addinivalue_line(
        "markers", "upstream: what TVM and PyTorch do wrong today; one fails when that has changed"
    )
    config.addinivalue_line(
        "markers", "slow(why): a second job of every push runs it, `-m slow`; why it is not in the first one"
    )
    config.addinivalue_line("markers", "nightly: takes minutes; only run when asked for, `-m nightly`")
    config.addinivalue_line("markers", "gpu: executes kernels for GPUs, on one or on what stands in for it")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One worker a core this process may use, as far as memory goes; none beside it for a single file."""
    files = {argument.partition("::")[0] for argument in config.args}
    if len(files) == 1 and files.pop().endswith(".py"):
        return 0
    return max(1, min(usable_cores(), int(usable_memory_gb() / WORKER_MEMORY_GB)))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if gpus_at_hand.wanted(config.option.markexpr):
        terminalreporter.section("what executes kernels for GPUs")
        for name, what in gpus_at_hand.found().items():
            terminalreporter.write_line(f"{name}: {what}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent
    places = {tests / name: place for place, name in enumerate(LONGEST)} | {tests / LAST: len(LONGEST) + 1}
    items.sort(key=lambda item: places.get(item.path, len(LONGEST)))  # which is stable
    tiers.check(items)
    for item in items if examples.night() else ():
        if examples.draws(item):
            item.add_marker(pytest.mark.nightly)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    report = yield
    tiers.refuse_skip(item, report)
    return report


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a window; the test is skipped where there is none."""
    from chromium import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all workers of this run see."""
    folder = tmp_path_factory.getbasetemp()
    return folder if worker_id == "master" else folder.parent


@pytest.fixture(scope="session")
def runner_runtime(shared_folder: Path) -> Callable[[str], list[Path]]:
    """The TVM runtime that a recipe's runner is given: installed here or, once a run, fetched."""

    def get(recipe: str) -> list[Path]:
        from elsewhere import runtime_of  # the compiler comes with it

        folder = shared_folder / f"runtime-{recipe}"
        with once(shared_folder / f"runtime-{recipe}-there") as first:
            if first:
                folder.mkdir()
                runtime_of(recipe, folder)
        return sorted(path for path in folder.iterdir() if path.suffix != ".json")

    return get


@pytest.fixture(scope="session")
def toy_root(shared_folder: Path) -> Path:
    """A repository in which the recipe `toy` is built; tests may run doit in it, and change nothing."""
    untouched, root = shared_folder / "toys", shared_folder / "toy"
    with once(shared_folder / "toy-built") as first:
        if first:
            write_recipes(untouched)
            built = doit(untouched, "-n", "2", "toy")
            assert built.returncode == 0, built.stdout + built.stderr
            assert "32 stages built, 0 up to date (" in built.stdout
            copy_repository(untouched, root)
    return root


@pytest.fixture(scope="session")
def toy(toy_root: Path) -> Path:
    """The bundle of the recipe `toy`."""
    return toy_root / "artifacts" / "toy"


@pytest.fixture(scope="session")
def real_bundle() -> Path:
    """The bundle of the recipe `cpu`, of the real weights, built in this checkout."""
    built = doit(ROOT, "cpu")
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]
    return ROOT / "artifacts" / "cpu"


@pytest.fixture(scope="session")
def others(toy_root: Path, shared_folder: Path) -> Path:
    """The folder of all bundles, in a repository of its own: artifacts/."""
    root = shared_folder / "toys"
    with once(shared_folder / "others-built") as first:
        if first:
            built = doit(root, "-n", "2", "nightly")  # every recipe, for none says otherwise
            assert built.returncode == 0, built.stdout + built.stderr
            assert "toy-model.checkpoint" not in built.stdout, "recipes of a model share its checkpoint"
    return root / "artifacts"


@pytest.fixture
def toy_copy(toy_root: Path, tmp_path: Path) -> Path:
    """A repository of the test's own in which the recipe `toy` is built."""
    return copy_repository(toy_root, tmp_path / "repository")


@pytest.fixture(scope="session")
def front_end_files() -> Path:
    """The folder of the real front end's files: fetched and converted, once in this checkout."""
    stage = graph_of("cpu").front_end
    assert stage is not None
    stage.run()
    return stage.folder


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Bundles whose libraries compute what FakeRunner does, by length policy; compiled once each."""
    from toy_bundle import compile_into, refresh, write_bundle  # the compiler comes with it

    folder = tmp_path_factory.mktemp("compiled")

    def get(length: str) -> Path:
        if not (folder / length).exists():
            write_bundle(folder / length, length)
            compile_into(folder / length, length)
            refresh(folder / length)
        return folder / length

    return get
