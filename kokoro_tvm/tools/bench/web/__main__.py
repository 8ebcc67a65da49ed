"""Measure bundles for WebAssembly beside ONNX Runtime Web, which kokoro-js uses in a browser."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from kokoro_tvm.builder.diagnostics.hardware import describe_machine
from kokoro_tvm.builder.names import PEERS
from kokoro_tvm.common.errors import BuildError, KokoroTvmError
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.targets.runners.node import NODE
from kokoro_tvm.tools.bench.child import Child
from kokoro_tvm.tools.bench.engine import BenchUtterance
from kokoro_tvm.tools.bench.measure import build_utterances, rotate
from kokoro_tvm.tools.bench.peer_models import PeerModels
from kokoro_tvm.tools.bench.quiet import CpuWatch
from kokoro_tvm.tools.bench.texts import choose_texts
from kokoro_tvm.tools.bench.web.results import WebResult, WebTiming, rows
from kokoro_tvm.web import WEB

ORT = "onnxruntime-web"
ORT_VERSION = "1.30.0"
SPEAKER = Path(__file__).with_name("speaker.mjs")
TEXTS = ("short", "medium", "long")
BUNDLES = (Path("artifacts/wasm-small"), Path("artifacts/wasm-relaxed"))


@dataclass(frozen=True)
class WebSystem:
    """A system: its title, and the first request of speaker.mjs without the number of threads."""

    title: str
    request: Mapping[str, Any]


def measure(
    systems: Sequence[WebSystem],
    threads: Sequence[int],
    texts: Mapping[str, BenchUtterance],
    rounds: int,
    log: Callable[[str], None] = lambda line: None,
) -> list[WebTiming]:
    """Speak every text with every system and number of threads, in turns: a first call, then `rounds` more.

    Raises:
        MeasuredProcessError: A process ended.
    """
    command = ["node", *NODE.options(), str(SPEAKER)]
    with TemporaryDirectory(prefix="kokoro-tvm-web-") as folder, ExitStack() as stack:
        speakers: dict[tuple[str, int], Child] = {}
        for count in threads:
            for index, system in enumerate(systems):
                log(f"{system.title}: opened with {count} threads")
                child = Child(command, count, Path(folder, f"{index}-{count}.log"))
                stack.callback(child.close)
                speakers[system.title, count] = child
                child.ask({**system.request, "threads": count})
        answers: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
        for number in range(rounds + 1):
            for text, utterance in texts.items():
                log(f"round {number} of {rounds}: {text}" if number else f"first calls: {text}")
                for key in rotate(list(speakers), number):
                    answers.setdefault((*key, text), []).append(speakers[key].ask(vars(utterance)))
    return [
        WebTiming(
            system=system,
            threads=count,
            text=text,
            samples=first["samples"],
            first_s=first["seconds"],
            seconds_s=tuple(answer["seconds"] for answer in later),
            peak_rss_bytes=first["peak_rss_bytes"],
        )
        for (system, count, text), (first, *later) in answers.items()
    ]


def _prepare_peers(artifacts: Path, recipes: Path, log: Callable[[str], None]) -> list[WebSystem]:
    """Prepare ONNX Runtime Web with the model in float32 and int8. Raises BuildError if that fails."""
    models = PeerModels(artifacts, recipes, "kokoro-82m", log)
    module = _install_ort(artifacts / PEERS / "web")
    return [
        WebSystem(title, {"kind": "onnx", "module": str(module), "path": str(path.resolve())})
        for title, path in (
            ("ONNX Runtime Web", models.onnx_float32()),
            ("ONNX Runtime Web, int8", models.onnx_int8()),
        )
    ]


def _install_ort(folder: Path) -> Path:
    """Install ONNX Runtime Web from the npm registry; return its module for Node.

    Raises BuildError if npm is missing or fails.
    """
    module = folder.resolve() / "node_modules" / ORT / "dist" / "ort.node.min.mjs"
    manifest = module.parents[1] / "package.json"
    if module.is_file() and json.loads(manifest.read_text(encoding="utf-8"))["version"] == ORT_VERSION:
        return module
    npm = shutil.which("npm")
    if npm is None:
        raise BuildError(f"npm is missing, which installs {ORT} {ORT_VERSION}. Install it.")
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"private": True, "dependencies": {ORT: ORT_VERSION}})
    (folder / "package.json").write_text(text, encoding="utf-8")
    command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode:
        raise BuildError(f"npm cannot install {ORT} {ORT_VERSION}: {result.stderr.strip()[-500:]}")
    return module


def main(
    bundles: Annotated[
        list[Path] | None, typer.Argument(help="Default: artifacts/wasm-small and artifacts/wasm-relaxed.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Calls after the first.")] = 3,
    threads: Annotated[list[int] | None, typer.Option(min=1, help="Default: 1 and 2.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="Default: short, medium and long.")] = None,
    recipes: Annotated[Path, typer.Option(help="Where the model recipe is.")] = Path("recipes"),
    json_path: Annotated[Path, typer.Option("--json", help="Where the result goes.")] = Path(
        "artifacts/web.json"
    ),
) -> None:
    """Measure bundles for WebAssembly and ONNX Runtime Web in Node, in turns."""

    def log(line: str) -> None:
        typer.echo(line, err=True)

    try:
        manifests = [read_bundle(bundle) for bundle in bundles or BUNDLES]
        texts = choose_texts(text or list(TEXTS))
        utterances = {text.name: build_utterances(text, manifests[0])[0] for text in texts}
        ours = [
            WebSystem(
                f"**kokoro-tvm {bundle.recipe}**",
                {"kind": "bundle", "web": str(WEB), "path": str(bundle.root.resolve())},
            )
            for bundle in manifests
        ]
        systems = [*ours, *_prepare_peers(json_path.parent, recipes, log)]
        watch = CpuWatch()
        timings = measure(systems, threads or [1, 2], utterances, rounds, log)
        result = WebResult(
            machine=str(describe_machine()),
            node=NODE.version(),
            date=datetime.datetime.now(datetime.UTC).date().isoformat(),
            rounds=rounds,
            others_cores=watch.others_cores(),
            versions={ORT: ORT_VERSION},
            spoken=tuple(timings),
        )
        result.write(json_path)
    except KokoroTvmError as error:
        log(str(error))
        raise typer.Exit(error.exit_code) from error
    for row in rows(result):
        typer.echo("  ".join(cell.ljust(24) for cell in row))


if __name__ == "__main__":
    typer.run(main)
