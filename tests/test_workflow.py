"""The workflows do what anyone can type, with tools that are pinned."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from packaging.specifiers import SpecifierSet

from kokoro_tvm.builder.engine.reporter import LineReporter
from kokoro_tvm.builder.engine.versions import PYTHON
from kokoro_tvm.builder.tasks import recipe_tasks
from kokoro_tvm.cli import build_app
from kokoro_tvm.recipe import load_recipe

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def read(path: Path) -> dict[Any, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def jobs(path: Path) -> list[dict[str, Any]]:
    return list(read(path)["jobs"].values())


def commands(steps: list[dict[str, Any]]) -> list[str]:
    return [line for step in steps for line in step.get("run", "").splitlines()]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_and_only_what_signs_has_a_secret(path: Path) -> None:
    assert read(path)["permissions"] == {"contents": "read"}
    secret = "${{ secrets.KOKORO_TVM_SIGNING_KEY }}"
    signing = [step for job in jobs(path) for step in job["steps"] if secret in step.get("env", {}).values()]
    assert [(step["run"], step["env"]) for step in signing] == (
        [(".ci/release", {"SIGNING_KEY": secret})] if path.stem == "nightly" else []
    )
    assert path.read_text(encoding="utf-8").count("secrets.") == len(signing)
    assert not {"push", "pull_request"} & set(read(path)[True]) or not signing, "others' code has no key"
    assert all(0 < job["timeout-minutes"] <= 360 for job in jobs(path))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_with_the_version_beside_it(path: Path) -> None:
    """Who can move a tag cannot change what runs here; the comment is for readers and for updates."""
    lines = path.read_text(encoding="utf-8").splitlines()
    used = [line.partition("uses:")[2].strip() for line in lines if "uses:" in line]
    assert len(used) == sum("uses" in step for job in jobs(path) for step in job["steps"])
    for each in used:
        assert re.fullmatch(r"actions/[a-z-]+(/[a-z]+)?@[0-9a-f]{40}  # v\d+\.\d+\.\d+", each), each


def test_one_version_of_an_action_has_one_commit() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    pins = set(re.findall(r"uses: (\S+)@(\S+)  # (\S+)", text))
    assert len(pins) == len({name for name, _, _ in pins})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_machine_and_python_are_pinned_too(path: Path) -> None:
    for job in jobs(path):
        matrix = job.get("strategy", {}).get("matrix", {})
        chosen = [*matrix.get("include", ()), *({"python": version} for version in matrix.get("python", ()))]
        machines = [one["machine"] for one in chosen if "machine" in one] or [job["runs-on"]]
        assert all(re.fullmatch(r"ubuntu-\d+\.04(-arm)?|macos-\d+", machine) for machine in machines)
        steps = [step for step in job["steps"] if "setup-python" in step.get("uses", "")]
        for version in (step["with"]["python-version"] for step in steps):
            versions = [one["python"] for one in chosen] if version == "${{ matrix.python }}" else [version]
            assert all(version in SpecifierSet(PYTHON) for version in versions)


def test_every_push_and_pull_request_runs_what_the_readme_says() -> None:
    """One tier a job, side by side. What they run are the README's lines: tests/test_docs.py."""
    workflow = ROOT / ".github/workflows/tests.yml"
    assert set(read(workflow)[True]) == {"push", "pull_request"}
    assert [commands(job["steps"]) for job in jobs(workflow)] == [[".ci/run"], [".ci/slow"]]
    assert jobs(workflow)[0]["strategy"]["matrix"] == {"python": ["3.11", "3.12"]}
    assert not any("needs" in job for job in jobs(workflow))


def test_other_machines_build_the_toy_and_what_they_run_themselves() -> None:
    (job,) = jobs(ROOT / ".github/workflows/hosts.yml")
    assert {one["machine"] for one in job["strategy"]["matrix"]["include"]} == {
        "ubuntu-24.04",
        "ubuntu-24.04-arm",
        "macos-15",
    }
    *_, extras, toy, packages, cross, own = commands(job["steps"])
    assert extras == ".ci/resolve"
    assert toy == ".venv/bin/python -m pytest -n 0 tests/test_tiny.py"
    assert packages == ".venv/bin/kokoro-tvm doctor --packages | xargs .ci/packages"
    selection = "-k 'speaks and linux-arm64 and not server'"
    assert cross == f".venv/bin/python -m pytest -n 0 -m nightly tests/test_portable.py {selection}"
    program, *recipes = own.split()
    assert program == ".venv/bin/doit"
    for recipe in recipes:
        assert "arm64-apple-macos" in str(load_recipe(recipe, ROOT / "recipes").target)


def test_every_python_that_builds_is_tried_on_hosted_machines() -> None:
    """As the README says: with no variable for any of them. Each builds for another machine, too."""
    (job,) = jobs(ROOT / ".github/workflows/hosts.yml")
    assert job["env"].keys() == {"PIP_EXTRA_INDEX_URL"}
    one_machine = [one for one in job["strategy"]["matrix"]["include"] if one["machine"] == "ubuntu-24.04"]
    tried = {one["python"] for one in one_machine}
    assert tried == {f"3.{minor}" for minor in range(8, 20) if f"3.{minor}" in SpecifierSet(PYTHON)}


NIGHTLY = read(ROOT / ".github/workflows/nightly.yml")
JOB, PUBLISH = jobs(ROOT / ".github/workflows/nightly.yml")
STEPS: list[dict[str, Any]] = JOB["steps"]
COMMANDS = commands(STEPS)


def test_it_runs_at_night_and_on_request() -> None:
    when = NIGHTLY[True]  # YAML 1.1 takes the key `on` for a boolean
    assert when.keys() == {"schedule", "workflow_dispatch"}
    assert re.fullmatch(r"\d+ \d+ \* \* \*", when["schedule"][0]["cron"])


def test_it_installs_as_the_readme_says_and_what_only_nights_need() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    install, extra = COMMANDS[0].rsplit(" ", 1)
    assert extra == "'.[asr,test-slow]'"
    assert f"{install} '.[build]' && .venv/bin/doit" in readme


@pytest.mark.parametrize("line", COMMANDS[1:])
def test_it_calls_what_is_documented(line: str, tmp_path: Path) -> None:
    program, *words = shlex.split(line)
    if program == ".venv/bin/doit":
        (tmp_path / "recipes").symlink_to(ROOT / "recipes")
        made = recipe_tasks(tmp_path, LineReporter(io.StringIO(), io.StringIO()))
        assert set(words) <= {task["basename"] for task in made}
        assert f"doit {words[0]}" in (ROOT / "docs/build.md").read_text(encoding="utf-8")
    elif program == ".venv/bin/python":
        module, tests, marker, name = words
        assert (module, tests, marker) == ("-m", "pytest", "-m")
        marked = ROOT.joinpath("tests").rglob("test_*.py")
        assert any(f"pytest.mark.{name}" in path.read_text(encoding="utf-8") for path in marked)
    elif program == "rm":
        assert words[0] == "-rf"
        assert not any(Path(word).is_absolute() for word in words)
    elif program == "sed":  # the oldest versions that `serve` admits
        assert words[-7:] == [
            "pipx",
            "run",
            "pip-audit==2.10.1",
            "--no-deps",
            "--disable-pip",
            "-r",
            "oldest.txt",
        ]
    elif program == ".ci/release":
        assert words == []
    else:
        assert program == ".venv/bin/kokoro-tvm"
        ends = [number for number, word in enumerate(words) if word in ("&&", "|")]
        words = words[: ends[0]] if ends else words
        command: Any = typer.main.get_command(build_app())
        command.commands[words[0]].make_context(words[0], words[1:]).close()


def test_it_builds_then_says_how_all_stands_then_tests() -> None:
    runs = [(step["run"], step.get("if", "")) for step in STEPS if "run" in step]
    assert [run for run, _ in runs[-13:] if not run.startswith("sed ")] == [
        ".venv/bin/doit nightly",
        ".venv/bin/doit report",
        ".venv/bin/kokoro-tvm status",
        ".venv/bin/kokoro-tvm gc --keep 0 --cache",  # or the cache would grow for ever
        "rm -rf .cache/kokoro-tvm",
        ".venv/bin/kokoro-tvm web wasm -o site && mkdir -p release && tar -cf release/site.tar site",
        ".ci/release",
        "rm -rf release layout site",
        ".venv/bin/python -m pytest -m nightly",
        ".venv/bin/kokoro-tvm diff last-night/cpu artifacts/cpu --audio",
        ".venv/bin/kokoro-tvm profile --against last-night/cpu --repeat 15",
        "rm -rf last-night && mkdir last-night && cp -r artifacts/cpu last-night/ "
        "&& cd artifacts && cp --parents .build/cpu/*/*.json ../last-night/",
    ]
    built = next(i for i, (run, _) in enumerate(runs) if run == ".venv/bin/doit nightly")
    assert all(when.startswith("always()") for _, when in runs[built + 1 :]), "a red night does all the rest"


def test_gc_runs_after_a_red_build_but_not_before_one() -> None:
    """Without a build, the store is empty, and all of the cache would go."""
    (gc,) = (step for step in STEPS if "gc --keep 0" in step.get("run", ""))
    (build,) = (step for step in STEPS if step.get("run") == ".venv/bin/doit nightly")
    assert gc["if"] == f"always() && steps.{build['id']}.outcome != 'skipped'"


def test_disk_is_freed_once_its_content_is_saved() -> None:
    """14 GB are guaranteed; the bundles of a night take 8, and were there five times."""
    order = [step.get("run") or step["with"].get("path") for step in STEPS if "run" in step or "with" in step]
    saved = max(i for i, each in enumerate(order) if each == ".cache/kokoro-tvm")
    assert order[saved + 1] == "rm -rf .cache/kokoro-tvm"
    assert order.index("layout") + 1 == order.index("rm -rf release layout site")


@pytest.mark.parametrize("path", [".cache/kokoro-tvm", "last-night"])
def test_what_a_night_built_is_kept_on_red_nights_too(path: str) -> None:
    """Under a key of its own: an entry of the cache never changes."""
    steps = [step for step in STEPS if "cache" in step.get("uses", "") and step["with"]["path"] == path]
    restored, saved = steps
    assert restored["uses"].startswith("actions/cache/restore@")
    assert saved["uses"].startswith("actions/cache/save@")
    assert saved["with"]["key"] == restored["with"]["key"]
    assert saved["with"]["key"].startswith(restored["with"]["restore-keys"])
    assert saved["if"].startswith("always()")


def test_what_passed_is_one_release_and_who_publishes_it_runs_nothing_of_ours() -> None:
    assert JOB["env"]["KOKORO_TVM_CACHE"] == "${{ github.workspace }}/.cache/kokoro-tvm"
    assert JOB["env"].keys() - {"PIP_EXTRA_INDEX_URL"} == {"KOKORO_TVM_EVENTS", "KOKORO_TVM_CACHE"}
    release, layout, report = [step for step in STEPS if "upload-artifact" in step.get("uses", "")]
    assert release["if"] == layout["if"] == report["if"] == "always()"
    pushed = f"release -o {release['with']['path']} --push {layout['with']['path']}"
    script = (ROOT / ".ci" / "release").read_text(encoding="utf-8")
    assert f".venv/bin/kokoro-tvm {pushed}" in script
    kept = report["with"]["path"].splitlines()
    assert {JOB["env"]["KOKORO_TVM_EVENTS"], "artifacts/*/report.html"} <= set(kept)
    assert "permissions" not in JOB
    assert PUBLISH["permissions"] == {"contents": "write", "packages": "write"}
    assert PUBLISH["needs"] == "nightly"
    downloads, runs = ([step for step in PUBLISH["steps"] if key in step] for key in ("uses", "run"))
    assert [step["with"] for step in downloads] == [release["with"], layout["with"]]
    program = r"(?:^|&& |(?<!Name) \| (?:xargs (?:-r )?-I NAME )?)(\w+)"
    programs = [re.findall(program, step["run"]) for step in runs]
    assert programs == [["gh"], ["gh", "gh"], ["echo", "skopeo", "jq", "skopeo"]]
    assert not any("checkout" in step["uses"] for step in downloads)


@pytest.mark.parametrize("key", ["", "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"])
def test_a_release_is_signed_where_there_is_a_key_and_says_unsigned_where_not(
    key: str, tmp_path: Path
) -> None:
    program = tmp_path / ".venv" / "bin" / "kokoro-tvm"
    program.parent.mkdir(parents=True)
    shown = '#!/bin/bash\necho "${@:1:9}" "${SIGNING_KEY-no variable}"; [ -z "${10-}" ] || cat "${11}"\n'
    program.write_text(shown, encoding="utf-8")
    program.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "SIGNING_KEY": key}
    command = [str(ROOT / ".ci" / "release")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    *warning, released = done.stdout.removesuffix(f"{key}\n" if key else "").splitlines()
    assert released == "release -o release --push layout --wheel x86-64-v3 --wheel linux-arm64 no variable"
    assert [line.partition(": ")[0] for line in warning] == ([] if key else ["::warning::unsigned"])
    assert done.stdout.endswith(f"{key}\n")
    assert list(tmp_path.rglob("*.pem")) == []


PROGRAMS = {
    "apt-get": '[ "$1" = update ] || [ "${*: -1}" != gone ] && echo "${BY:-root} $*" >> log',
    "id": "echo $ID",
    "sudo": '[ -n "$SUDO" ] || exit 1; shift; BY=sudo "$@"',
}


@pytest.mark.parametrize(
    ("user", "sudo", "by", "printed"),
    [
        ("0", "", "root", "Not installed: gone\n"),
        ("1000", "yes", "sudo", "Not installed: gone\n"),
        (
            "1000",
            "",
            None,
            "Not installed, because that takes root, or sudo without a password: lld gone g++\n",
        ),
    ],
)
def test_packages_are_installed_one_by_one_by_root_or_by_sudo(
    user: str, sudo: str, by: str | None, printed: str, tmp_path: Path
) -> None:
    for name, script in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "ID": user, "SUDO": sudo}
    command = [str(ROOT / ".ci/packages"), "lld", "gone", "g++"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == printed
    log = tmp_path / "log"
    options = "install -q -y --no-install-recommends"
    wanted = [f"{by} update -q", f"{by} {options} lld", f"{by} {options} g++"] if by else []
    assert (log.read_text(encoding="utf-8").splitlines() if log.exists() else []) == wanted


def test_what_ci_installs_is_what_the_recipes_need() -> None:
    """One list: nowhere else are packages of recipes named."""
    for path in (*(ROOT / ".ci").iterdir(), *WORKFLOWS):
        text = path.read_text(encoding="utf-8")
        text = text.replace("brew install lld", "")  # doctor knows Debian's packages alone
        assert not re.search(r"qemu-user|wine64|\blld\b|mingw|g\+\+-", text), path
        assert "apt-get install" not in text or path.name == "packages"
    assert "doctor --packages" in (ROOT / ".ci/slow").read_text(encoding="utf-8")
