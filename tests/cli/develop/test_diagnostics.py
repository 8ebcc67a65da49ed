"""kokoro-tvm status, explain, plan, graph, verify and gc, on a project with fake outputs."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from builder.diagnostics.built import build, built_project, edit, make, make_project

from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.parts import Parts, parts_store
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.project import Project
from kokoro_tvm.cli import main

GOLDEN = Path(__file__).parents[2] / "builder" / "diagnostics" / "golden"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with the recipe `cpu` built, in the working directory."""
    other = (Path(__file__).parents[3] / "recipes" / "cpu.yaml").read_text(encoding="utf-8")
    built_project(tmp_path, mine=other.replace("5120", "256"))
    monkeypatch.chdir(tmp_path)
    return Project(Path())


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the output without blanks at the ends of lines."""
    out, err = capsys.readouterr()
    assert err == ""
    return "".join(f"{line.rstrip()}\n" for line in out.splitlines())


def test_status_prints_a_table(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    edit(project, "cpu", "float32", "bfloat16")
    assert run("status") == 0
    sizes = re.compile(r" +\d+ bytes")  # of fake outputs
    result = (GOLDEN / "status.txt").read_text(encoding="utf-8")
    assert sizes.sub(" _ bytes", printed(capsys)) == sizes.sub(" _ bytes", result)
    assert run("status", "mine") == 0
    assert "mine/f0n-256 " in printed(capsys)


def test_status_prints_json(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("status", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result) == ["cpu", "mine"]
    bundle = result["cpu"][-1]
    assert bundle.pop("size") > 0
    assert bundle == {"name": "cpu", "state": "current", "stages": [], "gates": "passed", "problem": ""}


def test_status_before_the_first_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_project(tmp_path)
    assert run("status", "--root", str(tmp_path)) == 0
    assert printed(capsys) == "Never built: cpu\n"
    assert not (tmp_path / "artifacts").exists()


def test_plan_prints_steps_and_totals(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan") == 0
    assert printed(capsys) == "Nothing to do: all 35 stages are up to date.\n"
    edit(project, "kokoro-82m", "patches: [albert]", "patches: [weight_norm, albert]")
    assert run("plan", "-n", "2") == 0
    assert printed(capsys) == (GOLDEN / "plan.txt").read_text(encoding="utf-8")
    assert run("plan", "mine", "--json") == 0
    steps = {step["stage"]: step for step in json.loads(capsys.readouterr().out)}
    assert steps["mine.compile.f0n-256"]["seconds"] is None
    assert steps["kokoro-82m.checkpoint"]["action"] == "nothing"


def test_plan_before_the_first_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_project(tmp_path)
    assert run("plan", "--root", str(tmp_path)) == 0
    out = printed(capsys)
    assert out.count("  unknown  never built\n") == 35
    assert out.endswith("\n\n35 stages run, duration unknown: never built here.\n")


def test_plan_and_status_name_a_missing_tool(
    project: Project, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert run("plan") == 0
    out = printed(capsys)
    assert re.search(r"cpu\.compile\.decoder-5120 +fail *\n", out)
    summary = out.partition("\n6 stages cannot run here, and neither can what comes after:\n")[2]
    assert summary.startswith("no ld to link with")
    assert out.count("no ld to") == 1
    assert run("status") == 0
    assert re.search(r"cpu/decoder-5120 .*stale: compile; no ld", printed(capsys).replace("\n", " "))


def test_explain_of_a_current_artifact(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", "cpu/decoder-5120") == 0
    assert printed(capsys).startswith("cpu/decoder-5120 is current, ")
    assert run("explain", "cpu/decoder-5120", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "subject": "cpu/decoder-5120",
        "reasons": [],
        "following": [],
        "others": [],
    }


@pytest.mark.parametrize("command", ["status", "explain", "plan", "graph", "verify"])
def test_command_refuses_an_unknown_recipe(
    project: Project, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, "cpo") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "`cpo`; did you mean `cpu`?" in err


@pytest.mark.parametrize("command", ["status", "plan", "graph", "verify", "doctor"])
def test_command_refuses_a_folder_without_recipes(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, "--root", str(tmp_path)) == 2
    assert "there is no such folder of recipes" in capsys.readouterr().err


def test_graph_writes_mermaid(project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(project, "cpu", "float32", "bfloat16")
    assert run("graph") == 0
    result = printed(capsys)
    assert result.startswith("flowchart LR\n")
    assert '["machine<br/>&nbsp;<br/>stale"]:::stale' in result
    assert '["lower<br/>f0n-5120<br/>stale"]:::stale' in result
    assert '["export<br/>f0n-5120<br/>current"]:::current' in result
    assert run("graph", "cpu", "-o", "graph.mmd") == 0
    assert printed(capsys) == "graph.mmd: 35 stages\n"
    assert Path("graph.mmd").read_text(encoding="utf-8") == result
    assert run("graph", "-o", "nowhere/graph.mmd") == 2
    assert "nowhere/graph.mmd cannot be written: No such file or directory." in capsys.readouterr().err


def test_verify_rebuilds_a_stage_twice_and_compares(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = {o.file: o.sha256 for o in project.find("cpu.machine").stages[0].record().outputs}
    results = [stored, stored, stored, {"machine.json": "1"}, {"machine.json": "2"}, {"machine.json": "2"}]
    monkeypatch.setattr(Stage, "rebuild", lambda stage, beat: results.pop(0))
    assert run("verify", "--rebuild", "cpu.machine") == 0
    assert printed(capsys) == "cpu.machine: two runs wrote the same 1 files\n"
    assert run("verify", "--rebuild", "cpu.machine") == 3
    assert "machine.json: two runs wrote different bytes" in capsys.readouterr().err
    assert run("verify", "--rebuild", "cpu.machine") == 3
    assert "machine.json: the store has other bytes than both runs wrote" in capsys.readouterr().err
    assert run("verify", "--rebuild", "cpu.machine", "cpu") == 2
    assert results == []


def test_verify_reports_damaged_outputs(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("verify") == 0
    assert re.fullmatch(r"\d+ files read, [\d.]+ kB: 0 damaged or missing\n", printed(capsys))
    library = Path("artifacts/.build/cpu/f0n-5120/parameters.json")
    library.chmod(0o644)
    library.write_text(library.read_text(encoding="utf-8").replace("weight", "weighs"), encoding="utf-8")
    assert run("verify") == 3
    out, err = capsys.readouterr()
    assert f"{library.resolve()}: holds something else than was written (cpu.lower.f0n-5120)\n" in out
    assert re.match(r"1 files are damaged or missing: `\S*kokoro-tvm verify --repair` restores them", err)
    (Path("artifacts/cpu") / "bundle.json").unlink()
    assert run("verify", "cpu", "--json") == 5
    printed_json = json.loads(capsys.readouterr().out)
    assert [fault["in_bundle"] for fault in printed_json["faults"]][-1] is True


def test_verify_all_reads_the_store(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    edit(project, "cpu", "float32", "bfloat16")
    contents = {"cpu.machine:machine.json": {"required": ["another"]}}
    build(project, contents=contents)
    assert run("verify", "--all") == 0
    capsys.readouterr()
    former = next(r for r in project.store.history("cpu.machine"))
    stored = project.store.object(former.outputs[0].sha256)
    stored.chmod(0o644)
    stored.write_bytes(b"x" * former.outputs[0].size)
    assert run("verify") == 0
    capsys.readouterr()
    assert run("verify", "--all") == 3
    assert str(stored) in capsys.readouterr().out


def test_verify_all_reads_the_parts(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = tmp_path / "kernel.o"
    part.write_bytes(b"kernel")
    parts = parts_store(project.store)
    Parts(parts, {}).keep({"name": "a"}, part, 0.0)
    assert run("verify", "--all") == 0
    stored = parts.object(sha256(b"kernel").hexdigest())
    stored.chmod(0o644)
    stored.write_bytes(b"broken")
    capsys.readouterr()
    assert run("verify", "--all") == 3
    assert f"{stored}: holds something else than was written\n" in capsys.readouterr().out


def unique_outputs(project: Project) -> dict[str, Path]:
    """Return the outputs, by stage, that have no copy."""
    stages = project.graph("cpu").stages()
    paths = {stage.path(o.file): o.sha256 for stage in stages for o in stage.record().outputs}
    counts = Counter(paths.values())
    return {s.name: p for s in stages for p in map(s.path, s.outputs) if counts[paths[p]] == 1}


def test_verify_repair_restores_a_damaged_output_and_object(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output and the object are copies, as on a file system without hard links."""
    (stage, output), (_, other) = list(unique_outputs(project).items())[:2]
    intact = output.read_bytes(), other.read_bytes()
    stored = project.store.object(sha256(intact[1]).hexdigest())
    for path in (output, stored):
        path.unlink()
        path.write_bytes(b"damaged")
    assert run("verify", "--all") == 3
    assert run("verify", "--repair") == 0
    out = capsys.readouterr().out
    assert f"{output.resolve()}: holds something else than was written ({stage}); restored\n" in out
    assert f"{stored}: holds something else than was written; restored\n" in out
    assert (output.read_bytes(), stored.read_bytes()) == (intact[0], intact[1])
    assert run("verify", "--all") == 0


def test_verify_repair_removes_what_has_no_intact_copy(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """A write into an output in place damages its object, which is the same file."""
    output = next(iter(unique_outputs(project).values()))
    stored = project.store.object(sha256(output.read_bytes()).hexdigest())
    record = next((project.store.root / "records").glob("*/*.json"))
    for path in (output, stored):
        path.chmod(0o644)
        path.write_bytes(b"damaged")
    assert run("verify", "--repair") == 0
    out = capsys.readouterr().out
    assert "; removed\n" in out
    assert "Run doit" in out
    assert not output.exists()
    assert not stored.exists()
    record.chmod(0o644)
    record.write_bytes(b"{}")
    assert run("verify", "--repair") == 0
    assert not record.exists()


def test_gc_keeps_the_newest_builds(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        edit(
            project,
            "kokoro-82m",
            f"decoder: {{min_snr_db: {60 + number},",
            f"decoder: {{min_snr_db: {61 + number},",
        )
        build(project)
    assert len(project.store.history("cpu.validate.decoder-5120")) == 4
    assert run("gc", "--keep", "2", "--dry-run") == 0
    assert " would be freed: 2 builds of stages, " in printed(capsys)
    assert len(project.store.history("cpu.validate.decoder-5120")) == 4
    assert run("gc", "--keep", "2") == 0
    assert " freed: 2 builds of stages, " in printed(capsys)
    assert len(project.store.history("cpu.validate.decoder-5120")) == 2
    assert run("gc", "--keep", "0") == 0
    assert build(project) == [], "what is current stays"


def test_gc_lists_and_removes_tries(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    overrides = ["buckets.frames=[512]"]
    graph = project.graph("cpu", overrides)
    for stage in graph.stages():
        if stage.name.startswith("cpu+"):
            make(project, stage)
    bundle = Path("artifacts/cpu+buckets-frames-512")
    work = Path("artifacts/.build/cpu+buckets-frames-512")
    assert (bundle / "bundle.json").is_file()
    own = {path for path in Path("artifacts").rglob("*") if path.is_file()}
    assert run("gc", "--keep", "1", "--dry-run") == 0
    foreseen = printed(capsys)
    assert foreseen.startswith(f"a try: {work.resolve()}\na try: {bundle.resolve()}\n")
    assert {path for path in Path("artifacts").rglob("*") if path.is_file()} >= own
    assert run("gc", "--keep", "1") == 0
    removed = printed(capsys)
    assert removed == foreseen.replace("a try:", "a try, removed:").replace("would be freed", "freed")
    assert not bundle.exists()
    assert not work.exists()
    assert build(project) == [], "the recipe's own bundle stays"
    assert run("gc", "--keep", "1", "--json") == 0
    assert json.loads(printed(capsys))["tries"] == []


def test_gc_prunes_the_shared_cache(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert run("gc", "--keep", "0", "--cache") == 2
    assert "--cache: there is no shared cache; KOKORO_TVM_CACHE names one" in capsys.readouterr().err
    monkeypatch.setenv("KOKORO_TVM_CACHE", str(tmp_path / "shared"))
    cache = Cache(str(tmp_path / "shared"), "read-write", pytest.fail)
    current = project.store.current("cpu.validate.decoder-5120")
    assert current is not None
    for record in (current, replace(current, derivation={"word": "other"})):
        cache.offer(record, lambda output: project.store.object(output.sha256))
    assert run("gc", "--keep", "0", "--cache") == 0
    assert " freed in the shared cache: 1 builds of stages, 0 of their files" in printed(capsys)
    (kept,) = (tmp_path / "shared").glob("records/*/*")
    assert kept.stem == current.key


def test_gc_needs_a_number_of_builds(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("gc") == 2
    assert run("gc", "--keep", "-1") == 2
