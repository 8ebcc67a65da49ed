"""Measure servers under load, in turns, on an otherwise quiet machine."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import ExitStack
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
from kokoro_tvm.tools.bench.load.results import Load, LoadResult, Turn, summarize_turns, table
from kokoro_tvm.tools.bench.load.servers import BenchServer, run_server
from kokoro_tvm.tools.bench.load.workload import WORKLOAD, Workload
from kokoro_tvm.tools.bench.measure import rotate
from kokoro_tvm.tools.bench.peer_models import PeerModels
from kokoro_tvm.tools.bench.quiet import CpuWatch
from kokoro_tvm.tools.bench.systems import System, bundle_systems, choose_peers, peer_system


def measure(
    systems: list[System],
    bundle: Path,
    clients: list[tuple[int, int]],
    seconds: float,
    rounds: int = 1,
    workload: Workload = WORKLOAD,
    log: Callable[[str], None] = lambda line: None,
) -> Iterator[Load]:
    """Measure every system under each number of clients; yield after each turn the rounds so far.

    All servers run all the time, and those without the turn are stopped.

    Args:
        systems: The systems.
        bundle: Bundle whose text front end peers use.
        clients: Pairs of the numbers of clients and of hostile clients, which only our server gets.
        seconds: Duration of a turn.
        rounds: Number of rounds.
        workload: The texts.
        log: Called with a line of text before every turn.

    Raises:
        MeasuredProcessError: A server does not start.
        aiohttp.ClientError: A server does not speak.
    """
    with TemporaryDirectory(prefix="kokoro-tvm-load-") as folder, ExitStack() as stack:
        servers: dict[str, BenchServer] = {}
        alone: dict[str, dict[str, AudioDigest]] = {}
        for system in systems:
            log(f"{system.title}: every text alone")
            server = stack.enter_context(run_server(system, bundle, Path(folder)))
            with _stop_all(servers.values()):
                alone[system.name] = asyncio.run(speak_alone(server.speech_url, workload))
            servers[system.name] = server
        turns: dict[tuple[str, int, int], list[Turn]] = defaultdict(list)
        for number, (index, (count, hostile)) in product(range(rounds), enumerate(clients)):
            for system in rotate(systems, index + number):
                if hostile and not system.ours:
                    continue
                others = f" and {hostile} hostile ones" if hostile else ""
                log(f"{system.title}: {count} clients{others}, round {number + 1} of {rounds}")
                server = servers[system.name]
                # Peers draw their noise anew in every run; ours returns equal bytes. Every round has its own
                # texts, the same for all servers.
                responses = drive(
                    server.speech_url,
                    workload,
                    alone[system.name],
                    count,
                    seconds,
                    exact=system.ours,
                    first=number * count,
                )
                with _stop_all(other for other in servers.values() if other is not server):
                    turn = _run_turn(server, hostile, responses)
                own_turns = turns[system.name, count, hostile]
                own_turns.append(turn)
                yield summarize_turns(system.title, system.ours, count, own_turns, hostile)


def _run_turn(
    server: BenchServer, hostile: int, responses: Coroutine[None, None, list[ClientResponse]]
) -> Turn:
    """Await the responses beside hostile clients; record time, memory and CPU time of the server."""

    async def run() -> list[ClientResponse]:
        async with beside_hostile_clients(server.url, hostile):
            return await responses

    memory, cpu, start = server.memory, server.cpu, time.monotonic()
    answers = asyncio.run(run())
    seconds = time.monotonic() - start
    return Turn(answers, seconds, (memory, server.memory), server.cpu - cpu)


def _stop_all(servers: Iterable[BenchServer]) -> ExitStack:
    """Return a context in which all these servers are stopped."""
    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(server.stopped())
        return stack.pop_all()


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
    count, manifest = choose_threads(threads), read_bundle(bundle)
    names = [] if against == "none" else against.split(",")
    models = PeerModels(root / "artifacts", root / "recipes", manifest.model, typer.echo)
    systems = bundle_systems([manifest], count)
    systems += [peer_system(peer, models, count) for peer in choose_peers(names)]
    for system in systems:
        if not isinstance(system, System):
            typer.echo(f"{system.title}: {system.problem}", err=True)
    present = [system for system in systems if isinstance(system, System)]
    pairs = [word.partition("+")[::2] for word in clients.split(",")]
    numbers = [(int(number), int(hostile or 0)) for number, hostile in pairs]
    watch, loads = CpuWatch(), dict[tuple[str, int, int], Load]()
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
            result.write(json)  # in case the run is interrupted
        update = {"complete": True, "others_cores": watch.others_cores()}
        result.model_copy(update=update).write(json)
    finally:
        if loads:
            typer.echo(table(result.loads))


if __name__ == "__main__":
    try:
        typer.run(main)
    except KokoroTvmError as error:
        raise SystemExit(str(error)) from error
