"""kokoro-tvm recipe, and errors of the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kokoro_tvm.cli import main
from kokoro_tvm.recipe import build_schema, load_recipe, to_yaml

RECIPES = Path(__file__).parents[2] / "recipe" / "recipes"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with recipes/."""
    shutil.copytree(RECIPES, tmp_path / "recipes")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(words)
    return int(exit_.value.code or 0)


def test_check_without_files_checks_all_recipes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("recipe", "check") == 0
    assert capsys.readouterr().out.splitlines() == [
        "recipes/full.yaml: ok, 7 artifacts of toy",
        "recipes/here.yaml: ok, 10 artifacts of toy",
        "recipes/toy.yaml: ok, a model of 2 checkpoint sources",
    ]


def test_check_reports_every_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        (folder / f"{name}.yaml").write_text("model: toy\nlenght: exact\n")
    assert run("recipe", "check", "one.yaml", "recipes/here.yaml", "two.yaml") == 2
    out, err = capsys.readouterr()
    assert out == "recipes/here.yaml: ok, 10 artifacts of toy\n"
    assert (
        "one.yaml:2:1: unknown key `lenght`; did you mean `length`?\n   2 | lenght: exact\n     | ^^^^^^"
        in err
    )
    assert "two.yaml:2:1: " in err
    assert "Traceback" not in err


def test_check_reports_a_fault_of_a_model_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "recipes" / "toy.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("utterances:", "utterance:"), encoding="utf-8")
    assert run("recipe", "check") == 2
    assert capsys.readouterr().err.count("unknown key") == 1


def test_show_prints_the_resolved_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("recipe", "show", "here") == 0
    assert capsys.readouterr().out == to_yaml(load_recipe("here"))


def test_show_origin_prints_file_and_line_of_every_value(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "recipes" / "mine.yaml").write_text("extends: here\nlength: masked\n", encoding="utf-8")
    assert run("recipe", "show", "mine", "--origin") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["model", "toy", "recipes/here.yaml:1"]
    assert ["length", "masked", "recipes/mine.yaml:2,", "over", "recipes/here.yaml:3"] in lines
    assert ["timeout_s", "900", "default"] in lines


def test_show_of_an_unknown_recipe_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("recipe", "show", "hree") == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "recipes: there is no recipe `hree`; did you mean `here`?\n")


def test_schema_is_the_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("recipe", "schema") == 0
    assert json.loads(capsys.readouterr().out) == build_schema()


@pytest.mark.parametrize(
    "words", [("--debug", "recipe", "show", "hree"), ("recipe", "show", "hree", "--debug")]
)
def test_debug_shows_the_traceback(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "RecipeError" in err


def test_debug_after_two_dashes_is_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("recipe", "show", "--", "--debug") == 2
    err = capsys.readouterr().err
    assert "no recipe `--debug`" in err
    assert "Traceback" not in err


def test_error_of_the_program_is_called_a_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("kokoro_tvm.recipe.build_schema", fail)
    assert run("recipe", "schema") == 1
    err = capsys.readouterr().err
    assert (
        "a fault in kokoro-tvm, ZeroDivisionError: by zero (run again with --debug for the traceback)" in err
    )
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [("recipe", "shw"), ("recipe", "show"), ("recpie",), ("--nope",)])
def test_wrong_usage_has_status_2(words: tuple[str, ...]) -> None:
    assert run(*words) == 2


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out.startswith("kokoro-tvm 0.")


def test_help_imports_nothing_heavy() -> None:
    """This keeps --help below 0.3 s."""
    code = (
        "import sys\nfrom kokoro_tvm.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'tvm', 'tvm_ffi', 'numpy', 'pydantic', 'yaml', 'rich', 'doit', 'misaki'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "recipe" in done.stdout
