"""kokoro-tvm verify: compares all outputs with their records, or runs a stage twice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption


def verify(
    recipes: Annotated[list[str] | None, typer.Argument(help="Names of recipes.", show_default="all")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also read every file of the store, including earlier builds.")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Read every file. Restore damaged ones from intact copies, and remove those without a copy.",
        ),
    ] = False,
    rebuild: Annotated[
        str | None,
        typer.Option(
            "--rebuild",
            metavar="STAGE",
            help="Run this stage twice, outside the store, and compare the bytes that it writes.",
        ),
    ] = None,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Compare the digest of every output with its record.

    The exit status is 5 if a file of a bundle is damaged or missing, 3 if only other files are, or if the two
    runs differ.
    """
    from dataclasses import asdict

    from rich.filesize import decimal

    from kokoro_tvm.builder.diagnostics.verify import verify as verify_outputs
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import print_json
    from kokoro_tvm.common.errors import BuildError, BundleError

    if rebuild is not None:
        _rebuild(rebuild, recipes, everything or repair, json, root)
        return
    result = verify_outputs(Project.open(root, paranoid=True), recipes, everything or repair, repair)
    if json:
        print_json({**asdict(result), "faults": [asdict(f) | {"path": str(f.path)} for f in result.faults]})
    else:
        for fault in result.faults:
            typer.echo(f"{fault.path}: {fault.problem}{f'; {fault.repair}' if fault.repair else ''}")
        typer.echo(
            f"{result.files} files read, {decimal(result.bytes)}: {len(result.faults)} damaged or missing"
        )
    if result.faults and not repair:
        kind = BundleError if any(f.in_bundle for f in result.faults) else BuildError
        raise kind(
            f"{len(result.faults)} files are damaged or missing: `kokoro-tvm verify --repair` restores them "
            "from intact copies, and removes those that have none; `doit` then builds what is missing"
        )
    if any(fault.repair == "removed" for fault in result.faults) and not json:
        typer.echo("Run doit: it builds what was removed, where it is needed.")


def _rebuild(word: str, recipes: list[str] | None, everything: bool, json: bool, root: Path) -> None:
    """Run the stage `word` twice and print whether both wrote the same.

    Raises:
        InputError: The word means several stages, or other arguments are set.
        BuildError: The outputs differ.
    """
    from kokoro_tvm.builder.diagnostics.verify import rebuild
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import note, print_json
    from kokoro_tvm.common.errors import BuildError, InputError

    if recipes or everything:
        raise InputError("--rebuild takes one stage, and no recipes, --all or --repair")
    stages = Project.open(root).find(word).stages
    if len(stages) != 1:
        raise InputError(f"{word} is a recipe; --rebuild takes one stage, such as {stages[0].name}")
    (stage,) = stages
    differences = rebuild(stage, lambda elapsed: note(f"{stage.name}: {elapsed:.0f} s"))
    if json:
        print_json({"stage": stage.name, "differences": differences})
    if differences:
        raise BuildError(
            f"{stage.name} is not reproducible, or the store is wrong: {'; '.join(differences)}. "
            f"`kokoro-tvm build --force {stage.name}` runs it again and keeps what it writes"
        )
    if not json:
        typer.echo(f"{stage.name}: two runs wrote the same {len(stage.outputs)} files")
