"""Measures servers under load, one after the other, on a machine that is quiet otherwise."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from kokoro_tvm.bench.load.drive import drive, speak_alone
from kokoro_tvm.bench.load.results import Load, summary, table, write
from kokoro_tvm.bench.load.servers import started
from kokoro_tvm.bench.load.workload import WORKLOAD
from kokoro_tvm.bench.peer_models import PeerModels
from kokoro_tvm.bench.systems import Absent, System, bundle_systems, choose_peers, peer_system
from kokoro_tvm.errors import KokoroTvmError
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.threads import choose_threads

__all__ = ["main", "measure"]


def measure(system: System, bundle: Path, clients: list[int], seconds: float) -> list[Load]:
    """The figures of a system under each number of clients, of a server of its own for each.

    Raises ChildError where the server does not start, aiohttp.ClientError where it does not speak.
    """
    loads = []
    for number in clients:
        with (
            TemporaryDirectory(prefix="kokoro-tvm-load-") as folder,
            started(system, bundle, Path(folder)) as server,
        ):
            alone = asyncio.run(speak_alone(server.speech, WORKLOAD))
            before = server.memory
            begun = time.monotonic()
            # PyTorch and the ONNX export draw their noise anew in every run; ours gives equal bytes.
            answers = asyncio.run(drive(server.speech, WORKLOAD, alone, number, seconds, exact=system.ours))
            lasted = time.monotonic() - begun
            memory = before, server.memory
        loads.append(summary(system.title, number, lasted, answers, memory))
    return loads


def main(
    bundle: Annotated[Path, typer.Argument(help="The bundle to serve.")] = Path("artifacts/cpu"),
    against: Annotated[
        str, typer.Option("--against", metavar="PEERS", help="Peers by name, or `none`.")
    ] = "pytorch,onnxruntime",
    clients: Annotated[str, typer.Option("--clients", help="Numbers of clients.")] = "1,8,32",
    seconds: Annotated[float, typer.Option("--seconds", min=0, help="Seconds of each load.")] = 600.0,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Threads of each server.", show_default="all cores")
    ] = None,
    json: Annotated[Path, typer.Option("--json", help="File to write to.")] = Path("artifacts/load.json"),
    root: Annotated[
        Path, typer.Option("--root", help="The folder with `recipes/` and `artifacts/`.")
    ] = Path(),
) -> None:
    """Measure a bundle's server and its peers under load."""
    count, opened = choose_threads(threads), read_bundle(bundle)
    names = [] if against == "none" else against.split(",")
    models = PeerModels(root / "artifacts", root / "recipes", opened.model, typer.echo)
    systems: list[System | Absent] = list(bundle_systems([opened], count))
    systems += [peer_system(peer, models, count) for peer in choose_peers(names)]
    loads: list[Load] = []
    for system in systems:
        if isinstance(system, Absent):
            typer.echo(f"{system.title}: not run: {system.reason}", err=True)
            continue
        loads += measure(system, bundle, [int(number) for number in clients.split(",")], seconds)
        write(json, loads)
    typer.echo(table(loads))


if __name__ == "__main__":
    app = typer.Typer()
    app.command()(main)
    try:
        app(standalone_mode=True)
    except KokoroTvmError as error:
        raise SystemExit(str(error)) from error
