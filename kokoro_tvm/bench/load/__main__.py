"""Measures servers under load, in turns, on a machine that is quiet otherwise."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from kokoro_tvm.bench.load.drive import drive, speak_alone
from kokoro_tvm.bench.load.results import Load, summary, table, write
from kokoro_tvm.bench.load.servers import started
from kokoro_tvm.bench.load.workload import WORKLOAD, Workload
from kokoro_tvm.bench.peer_models import PeerModels
from kokoro_tvm.bench.rounds import rotated
from kokoro_tvm.bench.systems import Absent, System, bundle_systems, choose_peers, peer_system
from kokoro_tvm.errors import KokoroTvmError
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.threads import choose_threads

__all__ = ["main", "measure"]


def measure(
    systems: list[System],
    bundle: Path,
    clients: list[int],
    seconds: float,
    workload: Workload = WORKLOAD,
    log: Callable[[str], None] = lambda line: None,
) -> Iterator[Load]:
    """The figures of every system under each number of clients: servers stand side by side, and take turns.

    Raises ChildError where a server does not start, aiohttp.ClientError where it does not speak.
    """
    with TemporaryDirectory(prefix="kokoro-tvm-load-") as folder, ExitStack() as stack:
        servers = {}
        for system in systems:
            log(f"{system.title}: every text alone")
            server = stack.enter_context(started(system, bundle, Path(folder)))
            servers[system.name] = server, asyncio.run(speak_alone(server.speech, workload))
        for place, number in enumerate(clients):
            for system in rotated(systems, place):
                log(f"{system.title}: {number} clients")
                server, alone = servers[system.name]
                before, computed = server.memory, server.cpu
                begun = time.monotonic()
                # PyTorch and the ONNX export draw their noise anew in every run; ours gives equal bytes.
                driven = drive(server.speech, workload, alone, number, seconds, exact=system.ours)
                answers = asyncio.run(driven)
                lasted = time.monotonic() - begun
                memory, cpu = (before, server.memory), None
                if computed is not None and server.cpu is not None:
                    cpu = server.cpu - computed
                yield summary(system.title, number, lasted, answers, memory, cpu)


def main(
    bundle: Annotated[Path, typer.Argument(help="The bundle to serve.")] = Path("artifacts/cpu"),
    against: Annotated[
        str, typer.Option("--against", metavar="PEERS", help="Peers by name, or `none`.")
    ] = "pytorch,onnxruntime",
    clients: Annotated[str, typer.Option("--clients", help="Numbers of clients.")] = "1,8,32",
    seconds: Annotated[float, typer.Option("--seconds", min=0, help="Seconds of each load.")] = 600.0,
    sentences: Annotated[int, typer.Option("--sentences", min=1, help="Sentences to choose from.")] = len(
        WORKLOAD.sentences
    ),
    pages: Annotated[
        int, typer.Option("--pages", min=0, help="Pages of a minute to choose from, a fifth of the requests.")
    ] = len(WORKLOAD.pages),
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
    for system in systems:
        if isinstance(system, Absent):
            typer.echo(f"{system.title}: not run: {system.reason}", err=True)
    present = [system for system in systems if isinstance(system, System)]
    numbers = [int(number) for number in clients.split(",")]
    workload = Workload(WORKLOAD.sentences[:sentences], WORKLOAD.pages[:pages])
    loads: list[Load] = []
    for load in measure(present, bundle, numbers, seconds, workload, typer.echo):
        loads.append(load)
        write(json, loads)
    loads.sort(key=lambda load: load.clients)
    typer.echo(table(loads))


if __name__ == "__main__":
    app = typer.Typer()
    app.command()(main)
    try:
        app(standalone_mode=True)
    except KokoroTvmError as error:
        raise SystemExit(str(error)) from error
