"""kokoro-tvm gc: removes earlier builds from the store and the shared cache."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption, note


def gc(
    keep: Annotated[
        int,
        typer.Option(
            "--keep",
            min=0,
            help="Number of builds of every stage to keep, the newest first. The current build counts, and "
            "is kept even with `0`.",
        ),
    ],
    cache: Annotated[
        bool,
        typer.Option(
            "--cache",
            help="Also remove from the shared cache what the store does not keep. Nobody else may build into "
            "the cache at the same time.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Remove earlier builds from the store.

    The newest builds of every stage and all current outputs stay. Tries (`build --with`) are removed.
    """
    from dataclasses import asdict

    from rich.filesize import decimal

    from kokoro_tvm.builder.engine.cache import Cache
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import print_json
    from kokoro_tvm.common.errors import InputError

    project = Project.open(root)
    tries = project.tries()
    keys = project.list_kept_keys(keep)
    shared = Cache.from_environment(note) if cache else None
    if cache and shared is None:
        raise InputError("--cache: there is no shared cache; KOKORO_TVM_CACHE names one")
    pruned = shared.prune(keys, dry_run) if shared is not None else None
    freed = project.gc(keys, dry_run)
    if json:
        more = {"cache": asdict(pruned)} if pruned else {}
        print_json({"dry_run": dry_run, **asdict(freed), "tries": list(map(str, tries)), **more})
        return
    for path in tries:
        typer.echo(f"{'a try' if dry_run else 'a try, removed'}: {path}")
    done = "would be freed" if dry_run else "freed"
    typer.echo(
        f"{decimal(freed.bytes)} {done}: {freed.records} builds of stages, {freed.objects} of their "
        f"files, {freed.temporaries} folders of killed builds"
    )
    if pruned:
        typer.echo(
            f"{decimal(pruned.bytes)} {done} in the shared cache: {pruned.records} builds of stages, "
            f"{pruned.objects} of their files"
        )
