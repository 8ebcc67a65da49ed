"""An edit of the package makes exactly the stages stale that executed or read what was edited.

The stages are the toy's. Planning is a computation, so nothing is built for an edit.
"""

from __future__ import annotations

import ast
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from edited import Edited, Function, functions_in, import_edits
from toys import doit, write_recipes

import kokoro_tvm
from kokoro_tvm.builder.engine import code, memory
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.recipe import load_recipe

PACKAGE = Path(kokoro_tvm.__file__).parent
WINGS = ("kernels", "compiler", "native", "targets", "model")
SAMPLE = 25
FRAMES, TOKENS = ("decoder-130", "f0n-130"), ("bert-64", "duration-64", "text_encoder-64")


@pytest.fixture(scope="module")
def edited(toy_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edited]:
    package = tmp_path_factory.mktemp("edited") / "kokoro_tvm"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    # Those that `doit toy` builds: another test may have built `toy.report` there as well.
    built = RecipeGraph(load_recipe("toy", toy_root / "recipes"), toy_root / "artifacts", toy_root).stages()
    derivations = {stage.name: stage.record().derivation for stage in built}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "_PACKAGE", package)
        yield Edited(package, derivations)


def stages(kinds: str, artifacts: tuple[str, ...] = (*FRAMES, *TOKENS)) -> set[str]:
    return {
        f"toy.{kind}.{artifact.partition('-')[0] if kind == 'pack' else artifact}"
        for kind in kinds.split()
        for artifact in artifacts
    }


COMPILED = stages("compile")
RUN = stages("validate") | {"toy.speak", "toy.speech"}
CONVOLVED = stages("export lower pack")
BERT, LSTM = ("bert-64",), ("duration-64", "f0n-130", "text_encoder-64")


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        # The decoder is lowered with the kernel that draws its noise, which no exported program names.
        (
            "kernels/normal_noise.py",
            "def _build_cpu_kernel(",
            "def _build_cpu_kernel(*, _more=1, ",
            stages("lower", ("decoder-130",)),
        ),
        (
            "common/noise.py",
            "_ROUNDS = 10",
            "_ROUNDS = 7",
            # All that compares with references can draw noise.
            stages("lower", ("decoder-130",)) | stages("validate") | {"toy-model.reference", "toy.speech"},
        ),
        ("common/noise.py", "_ROUNDS = 10", "_ROUNDS = 10  # of ten", set()),
        ("runtime/text/frontend/normalization/emoji.py", "def name_emoji(", "def name_emoji(*more, ", set()),
        ("native/libtvm/wasm.py", "def compile_wasm(", "def compile_wasm(*more, ", set()),
        ("native/toolchains/coff.py", "/dll", "/debug", set()),
        ("native/toolchains/coff.py", "    def link(self, ", "    def link(self, *more, ", COMPILED | RUN),
        (
            "native/toolchains/gnu.py",
            '[self.command, "-shared"',
            '[self.command, "-O0", "-shared"',
            stages("compile"),
        ),
        # What handles code here is asked by who links and who runs it, not by who lowers it.
        ("targets/cpu_tools.py", "        if self.spec.platform == WEB:", "        if None:", COMPILED),
        ("targets/cpu_tools.py", "        if not self.spec.run:", "        if None:", RUN),
        ("targets/cpu_tools.py", "def runner(self", "def runner(self, *more", COMPILED | RUN),
        # What the decorator of an operation is given, and the defaults of its arguments.
        ("kernels/conv1d.py", "slope: float = 1.0", "slope: float = 0.5", CONVOLVED),
        ("kernels/conv1d.py", "tolerant: bool = False", "tolerant: bool = True", CONVOLVED),
        ("kernels/conv1d.py", ", in_place=_list_in_place\n", "\n", CONVOLVED),
        (
            "kernels/moments.py",
            "semantic_op(_infer_shape,",
            "semantic_op(lambda **shapes: (1, 4, 1),",
            stages("export lower", FRAMES) | stages("lower", TOKENS),
        ),
        (
            "kernels/gelu.py",
            "cpu=OpImplementation(_build_cpu_kernel)",
            "cpu=OpImplementation(_build_gpu_kernel)",
            stages("export lower", BERT),
        ),
        (
            "kernels/lstm.py",
            "flops=lambda call: 16 *",
            "flops=lambda call: 8 *",
            stages("export lower pack", LSTM),
        ),
        ("compiler/passes/fuse.py", "def apply(", "def apply(*more, ", stages("lower")),
        ("model/patches/f0n.py", "def _f0n_train(", "def _f0n_train(*more, ", stages("export", ("f0n-130",))),
        ("model/patches/__init__.py", '"get_patch", ', "", set()),
        ("builder/engine/store.py", "    def has(", "    def more(self): ...\n\n    def has(", set()),
        ("builder/engine/digest.py", "def digest(", "def digest(*more, ", set()),
        ("builder/stages/speak.py", "tts.from_phonemes(", "1 * tts.from_phonemes(", {"toy.speak"}),
        ("builder/stages/speak.py", "synthesize a test phrase", "say hello", set()),
    ],
)
def test_edit_makes_exactly_its_stages_stale(
    edited: Edited, file: str, old: str, new: str, expected: set[str]
) -> None:
    with edited.edit(file, old, new):
        assert edited.stale() == expected


def test_new_file_makes_nothing_stale(edited: Edited) -> None:
    for folder in ("model/patches", "compiler/passes", "targets", "kernels"):
        for name in ("another.py", ".llvm.py.swp", "llvm.py~", "#llvm.py#"):  # an editor's, too
            another = edited.package / folder / name
            another.write_text("X = 1\n", encoding="utf-8")
            assert edited.stale() == set()
            another.unlink()


def test_keys_do_not_depend_on_the_memory(edited: Edited, tmp_path: Path) -> None:
    kept = memory.Memory(tmp_path / "learned.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_learned", kept)
        assert edited.stale() == set()
        kept.save()
        patch.setattr(memory, "_learned", memory.Memory(tmp_path / "learned.json"))
        assert edited.stale() == set()
        (tmp_path / "learned.json").unlink()
        patch.setattr(memory, "_learned", memory.Memory(tmp_path / "learned.json"))
        assert edited.stale() == set()


@pytest.mark.slow("runs stages of the toy again, with what they have kept")
@pytest.mark.parametrize(
    ("stage", "file", "old"),
    [
        ("toy.compile.text_encoder-64", "compiler/codegen.py", "def write_object(\n"),
        ("toy-model.reference", "common/noise.py", "_ROUNDS = 10"),
    ],
)
def test_key_covers_the_code_of_cached_results(
    toy_copy: Path, edited: Edited, stage: str, file: str, old: str
) -> None:
    """A stage that finds objects of kernels or references does not execute the code that computed them."""
    store = Store(toy_copy / "artifacts" / ".store")
    record = store.current(stage)
    assert record is not None
    (store.root / "records" / record.key[:2] / f"{record.key}.json").unlink()
    process = doit(toy_copy, stage)
    assert re.search(rf"{re.escape(stage)} +done", process.stdout), process.stdout + process.stderr
    again = store.current(stage)
    assert again is not None
    result = Edited(edited.package, {stage: again.derivation})
    with edited.edit(file, old, old.replace("10", "7").replace("(\n", "(\n    *more,\n")):
        assert result.stale() == {stage}


def judge(edited: Edited, functions: list[Function]) -> None:
    """Edit each function alone, and check which stages become stale."""
    current: list[str] = []
    stale: list[str] = []
    for function in functions:
        with edited.edit_function(function):
            result, ran = edited.stale(), edited.ran(function)
        current += [f"{function.key}: {name}" for name in ran - result]
        stale += [f"{function.key}: {name}" for name in result - ran]
    assert (current, stale) == ([], [])


def test_edit_of_a_function_makes_its_executors_stale(edited: Edited) -> None:
    functions = functions_in(edited.package, *WINGS)
    executed = [function for function in functions if edited.ran(function)]
    assert len(executed) > 200
    judge(edited, random.Random(0).sample(executed, SAMPLE - 5))
    judge(edited, random.Random(0).sample(functions, 5))


@pytest.mark.nightly
def test_edit_of_any_function_makes_its_executors_stale(edited: Edited) -> None:
    judge(edited, functions_in(edited.package, *WINGS))


def judge_imports(edited: Edited, files: list[Path]) -> None:
    """Edit the module-level code of each file.

    Stages that executed a function of the module become stale; stages whose key lacks the module do not.
    """
    current: list[str] = []
    stale: list[str] = []
    for path in files:
        file = str(path.relative_to(edited.package))
        for kind, text in import_edits(path):
            with edited.rewrite(file, text):
                result = edited.stale()
            current += [f"{file}, {kind}: {name}" for name in edited.executed(file) - result]
            stale += [f"{file}, {kind}: {name}" for name in result - edited.counts(file)]
    assert (current, stale) == ([], [])


def sources_in(edited: Edited) -> list[Path]:
    return sorted(path for wing in WINGS for path in (edited.package / wing).rglob("*.py"))


def test_edit_of_module_code_makes_its_users_stale(edited: Edited) -> None:
    executed = [p for p in sources_in(edited) if edited.executed(str(p.relative_to(edited.package)))]
    assert len(executed) > 50
    judge_imports(edited, random.Random(0).sample(executed, 8))


@pytest.mark.nightly
def test_edit_of_any_module_code_makes_its_users_stale(edited: Edited) -> None:
    judge_imports(edited, sources_in(edited))


TOUCHED = """
import os

FOLDER = os.environ["TOUCHED"]
stage, seen = None, set()


def begin(trace):
    global stage
    stage = "-".join(trace.split("/")[-2:]).removesuffix(".trace")
    seen.clear()


def note(name):
    if name not in seen:
        seen.add(name)
        with open(os.path.join(FOLDER, stage or "imported"), "a") as file:
            file.write(name + chr(10))
"""


@pytest.mark.slow("builds stages of the toy anew, by a package whose every function reports itself")
def test_trace_matches_instrumented_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function of the copy reports itself, and the trace names the same ones."""
    root, reports = tmp_path / "repository", tmp_path / "reports"
    reports.mkdir()
    write_recipes(root)
    shutil.copytree(PACKAGE, root / "kokoro_tvm", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "touched.py").write_text(TOUCHED, encoding="utf-8")
    for function in functions_in(root / "kokoro_tvm", "."):
        if not function.file.startswith(("builder/engine/", "common/loading.py")):  # which do not count
            _report(root / "kokoro_tvm" / function.file)
    work = root / "kokoro_tvm" / "builder" / "engine" / "forkserver.py"
    text = work.read_text(encoding="utf-8")
    work.write_text(
        text.replace(
            "    recording.restart(", "    __import__('touched').begin(trace)\n    recording.restart("
        ),
        encoding="utf-8",
    )
    monkeypatch.setenv("TOUCHED", str(reports))
    process = doit(root, "toy.lower.decoder-130", "toy.compile.text_encoder-64", "toy.pack.text_encoder")
    assert process.returncode == 0, process.stdout + process.stderr
    store = Store(root / "artifacts" / ".store")
    imported = {*(reports / "imported").read_text(encoding="utf-8").splitlines()}
    for name in store.stages():
        _, kind, *artifact = name.split(".")
        record = store.current(name)
        assert record is not None
        if "code" not in record.derivation:
            continue
        reported = {*(reports / f"{(artifact or [kind])[0]}-{kind}").read_text(encoding="utf-8").splitlines()}
        recorded = {item for item in record.derivation["code"] if ":" in item}
        assert recorded - reported <= imported, name
        if kind != "compile":  # which lowers once more, and compares
            assert reported - recorded == set(), name


def _report(path: Path) -> None:
    """Insert a report at the beginning of every function of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if any(isinstance(n, ast.Constant) and n.value == "reports itself" for n in ast.walk(tree)):
        return
    root = next(parent for parent in path.parents if parent.name == "kokoro_tvm")
    parts = path.relative_to(root.parent).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def instrument(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                instrument(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.FunctionDef):
                        name = f"{module}:{prefix}{node.name}"
                        text = f"'reports itself'; __import__('touched').note({name!r})"
                        inner.body[0:0] = ast.parse(text).body

    instrument(tree.body, "")
    path.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")


def test_renamed_recipe_restores_packed_weights(toy_copy: Path) -> None:
    recipes = toy_copy / "recipes"
    shutil.copy(recipes / "toy.yaml", recipes / "mine.yaml")
    printed = doit(toy_copy, "mine.pack.bert").stdout
    assert re.search(r"mine\.pack\.bert +restored", printed), printed
    assert "0 stages built" in printed
