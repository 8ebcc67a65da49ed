"""Measures servers under load, in turns, on a machine that is quiet otherwise."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from kokoro_tvm.builder.diagnostics.hardware import describe_machine
from kokoro_tvm.common.errors import KokoroTvmError
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.threads import choose_threads
from kokoro_tvm.tools.bench.load.drive import AudioDigest, ClientResponse, drive, speak_alone
from kokoro_tvm.tools.bench.load.hostile import beside_hostile_clients
from kokoro_tvm.tools.bench.load.results import Load, LoadResult, Turn, summary, table
from kokoro_tvm.tools.bench.load.servers import BenchServer, started
from kokoro_tvm.tools.bench.load.workload import WORKLOAD, Workload
from kokoro_tvm.tools.bench.measure import rotated
from kokoro_tvm.tools.bench.peer_models import PeerModels
from kokoro_tvm.tools.bench.quiet import Watch
from kokoro_tvm.tools.bench.systems import System, bundle_systems, choose_peers, peer_system

__all__ = ["main", "measure"]


def measure(
    systems: list[System],
    bundle: Path,
    clients: list[tuple[int, int]],
    seconds: float,
    rounds: int = 1,
    workload: Workload = WORKLOAD,
    log: Callable[[str], None] = lambda line: None,
) -> Iterator[Load]:
    """The figures of every system under each number of clients, after each turn those of its rounds so far.

    Servers stand side by side; in each round all of them take turns, and another one begins. Who does not
    have the turn is stopped. clients: pairs of how many there are and how many hostile ones besides; only
    our server gets these, because they need its routes.

    Raises ChildError where a server does not start, aiohttp.ClientError where it does not speak.
    """
    with TemporaryDirectory(prefix="kokoro-tvm-load-") as folder, ExitStack() as stack:
        servers: dict[str, tuple[BenchServer, dict[str, AudioDigest]]] = {}
        for system in systems:
            log(f"{system.title}: every text alone")
            server = stack.enter_context(started(system, bundle, Path(folder)))
            with _at_rest([other for other, _ in servers.values()]):
                servers[system.name] = server, asyncio.run(speak_alone(server.speech, workload))
        turns: dict[tuple[str, int, int], list[Turn]] = defaultdict(list)
        for round, (place, (number, hostile)) in product(range(rounds), enumerate(clients)):
            for system in rotated(systems, place + round):
                if hostile and not system.ours:
                    continue
                others = f" and {hostile} hostile ones" if hostile else ""
                log(f"{system.title}: {number} clients{others}, round {round + 1} of {rounds}")
                server, alone = servers[system.name]
                with _at_rest([other for other, _ in servers.values() if other is not server]):
                    turn = _turn(server, system.ours, workload, alone, number, hostile, seconds, round)
                so_far = turns[system.name, number, hostile]
                so_far.append(turn)
                yield summary(system.title, system.ours, number, so_far, hostile)


def _turn(
    server: BenchServer,
    exact: bool,
    workload: Workload,
    alone: dict[str, AudioDigest],
    clients: int,
    hostile: int,
    seconds: float,
    round: int,
) -> Turn:
    """exact: PyTorch and the ONNX export draw their noise anew in every run; ours gives equal bytes."""
    before, computed = server.memory, server.cpu
    begun = time.monotonic()
    first = round * clients  # so that every round has texts of its own, the same for all servers

    async def driven() -> list[ClientResponse]:
        async with beside_hostile_clients(server.url, hostile):
            return await drive(server.speech, workload, alone, clients, seconds, exact, first)

    answers = asyncio.run(driven())
    lasted = time.monotonic() - begun
    after = server.cpu
    cpu = None if computed is None or after is None else after - computed
    return Turn(answers, lasted, (before, server.memory), cpu)


@contextmanager
def _at_rest(servers: list[BenchServer]) -> Iterator[None]:
    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(server.at_rest())
        yield


def main(
    bundle: Annotated[Path, typer.Argument(help="The bundle to serve.")] = Path("artifacts/cpu"),
    against: Annotated[
        str, typer.Option("--against", metavar="PEERS", help="Peers by name, or `none`.")
    ] = "pytorch,onnxruntime",
    clients: Annotated[
        str, typer.Option("--clients", help="Numbers of clients; `8+6` has 6 hostile ones besides.")
    ] = "1,8,8+6,32",
    seconds: Annotated[
        float, typer.Option("--seconds", min=0, help="Seconds of each server's turn in a round.")
    ] = 200.0,
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, help="Rounds, in which all servers take turns.")
    ] = 3,
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
    systems = bundle_systems([opened], count)
    systems += [peer_system(peer, models, count) for peer in choose_peers(names)]
    for system in systems:
        if not isinstance(system, System):
            typer.echo(f"{system.title}: {system.problem}", err=True)
    present = [system for system in systems if isinstance(system, System)]
    pairs = [each.partition("+")[::2] for each in clients.split(",")]
    numbers = [(int(number), int(hostile or 0)) for number, hostile in pairs]
    watch, loads = Watch(), dict[tuple[str, int, int], Load]()
    result = LoadResult(
        date=datetime.date.today().isoformat(),
        machine=describe_machine(),
        threads=count,
        rounds=rounds,
        seconds=seconds,
        sentences=len(WORKLOAD.sentences),
        pages=len(WORKLOAD.pages),
        complete=False,
        others_cores=None,
        loads=(),
    )
    try:
        for load in measure(present, bundle, numbers, seconds, rounds, WORKLOAD, typer.echo):
            loads[load.system, load.clients, load.hostile] = load
            result = result.model_copy(update={"loads": tuple(loads.values())})
            result.write(json)  # what is there, should the run be cut off
        ended = {"complete": True, "others_cores": watch.others_cores()}
        result.model_copy(update=ended).write(json)
    finally:
        if loads:
            typer.echo(table(result.loads))


if __name__ == "__main__":
    try:
        typer.run(main)
    except KokoroTvmError as error:
        raise SystemExit(str(error)) from error
