"""What the child process of each stage does: read files, call the stage, write files. Arguments are plain JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from kokoro_tvm.errors import BuildError

__all__ = ["bundle", "checkpoint", "compile_", "export", "lower", "machine", "pack", "reference", "speak", "speech", "validate"]

# Heavy packages are imported where they are needed: no stage pays for another's.


def checkpoint(recipe: dict[str, Any], folder: str, root: str) -> None:
    """Fetches weights, voices and configuration into `folder`."""
    from kokoro_tvm.model.checkpoint import fetch
    from kokoro_tvm.recipe import Checkpoint

    fetch(Checkpoint.model_validate(recipe, strict=False), Path(folder), root=Path(root), log=_say)


def machine(target: dict[str, Any], out: str) -> None:
    """Resolves a recipe's target into machine.json."""
    from kokoro_tvm.target import resolve

    resolved = resolve(target["mcpu"], target["mtriple"], target["mattr"])
    _write_json(Path(out), resolved.to_json())


def export(component: str, config: str, length: str, bucket: int, patches: list[str], folder: str) -> None:
    """Writes program.pt2 and operations.json, the semantic operations the program uses."""
    from kokoro_tvm.export import export_component, operations, save_program

    program = export_component(component, _read_json(Path(config)), length, bucket, patches)
    save_program(program, Path(folder, "program.pt2"))
    used = sorted({name.split(".")[1] for name in operations(program) if name.startswith("kokoro.")})
    _write_json(Path(folder, "operations.json"), used)


def lower(
    component: str,
    program: str,
    machine: str,
    passes: list[str],
    pass_context: dict[str, Any],
    manifest: dict[str, Any],
    folder: str,
    dump_ir: str | None = None,
) -> None:
    """Writes module.py (TVMScript) and parameters.json; with `dump_ir` also the module after every pass."""
    from kokoro_tvm.export import load_program
    from kokoro_tvm.lower import lower as lower_program
    from kokoro_tvm.target import Machine

    count = 0

    def dump(name: str, module: Any) -> None:
        nonlocal count
        if dump_ir is not None:
            target = Path(dump_ir)
            target.mkdir(parents=True, exist_ok=True)
            (target / f"{count:02d}-{name}.py").write_text(module.script(show_meta=True), encoding="utf-8")
            count += 1
        _say(f"{name}: {len(module.functions)} functions")

    lowered = lower_program(
        load_program(Path(program)),
        component=component,
        machine=Machine.from_json(_read_json(Path(machine))),
        passes=passes,
        pass_context=pass_context,
        manifest=manifest,
        dump=dump,
    )
    Path(folder, "module.py").write_text(lowered.module.script(show_meta=True), encoding="utf-8")
    _write_json(Path(folder, "parameters.json"), [p.to_json() for p in lowered.parameters])


def compile_(module: str, machine: str, out: str) -> None:
    """Compiles module.py into a shared library."""
    import tvm

    from kokoro_tvm.compile import compile_module
    from kokoro_tvm.target import Machine

    parsed = tvm.script.from_source(Path(module).read_text(encoding="utf-8"))
    compile_module(parsed, Machine.from_json(_read_json(Path(machine))), Path(out))


def pack(parameters: list[str], weights: str, out: str) -> None:
    """Packs a component's weights; every bucket must want them alike."""
    import torch
    from safetensors.torch import load_file

    import kokoro_tvm.ops  # noqa: F401  (packings are looked up among the registered operations)
    from kokoro_tvm.lower import Parameter
    from kokoro_tvm.pack import pack_weights
    from kokoro_tvm.patches.weight_norm import fold_weight_norm

    first, *others = (_read_json(Path(p)) for p in parameters)
    wanted = [{k: p[k] for k in ("name", "shape")} | {"as": (p["packing"] or {}).get("name")} for p in first]
    for path, other in zip(parameters[1:], others, strict=True):
        told = [{k: p[k] for k in ("name", "shape")} | {"as": (p["packing"] or {}).get("name")} for p in other]
        if told != wanted:
            raise BuildError(f"{path} packs weights otherwise than {parameters[0]}: buckets could not share them")
    with torch.no_grad():
        state = {name: tensor.numpy() for name, tensor in fold_weight_norm(load_file(weights)).items()}
    pack_weights([Parameter.from_json(p) for p in first], state, Path(out))


def reference(checkpoint: str, utterances: list[dict[str, Any]], folder: str) -> None:
    """Computes what the stock model says, in float64 and float32, for every utterance."""
    from safetensors.numpy import load_file

    from kokoro_tvm.model.kokoro import load_config, load_state
    from kokoro_tvm.recipe import Utterance
    from kokoro_tvm.validate.compute import compute_references
    from kokoro_tvm.validate.reference import save_reference

    voices = load_file(str(Path(checkpoint, "voices.safetensors")))
    config, state = load_config(Path(checkpoint)), load_state(Path(checkpoint))
    specs = [Utterance.model_validate(u, strict=False) for u in utterances]
    for found in compute_references(config, state, voices, specs, progress=_say):
        save_reference(found, Path(folder, f"{found.name}.safetensors"))


def validate(bundle: dict[str, Any], references: list[str], gates: dict[str, Any], threads: int, out: str) -> None:
    """Compares one artifact with the references; `bundle` describes a bundle of that artifact alone."""
    from kokoro_tvm.build.bundle import single_bundle
    from kokoro_tvm.recipe import Gates
    from kokoro_tvm.runtime.session import Session
    from kokoro_tvm.validate.artifact import validate_component
    from kokoro_tvm.validate.gates import write_report
    from kokoro_tvm.validate.reference import load_reference

    described = single_bundle(bundle)
    (component,) = described.components.values()
    session = Session(described, threads)

    def run(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        arrays = [inputs[port.name] for port in component.inputs if port.name != "length"]
        first = component.inputs[0].name
        length = inputs[first].shape[-1]
        outputs = session.run(component.name, length, *arrays)
        return dict(zip((port.name for port in component.outputs), (np.array(o) for o in outputs), strict=True))

    loaded = [load_reference(Path(path)) for path in references]
    report = validate_component(
        component.name, run, loaded, Gates.model_validate(gates, strict=False), bucket=component.buckets[0]
    )
    write_report(report, Path(out))
    report.require()


def bundle(
    recipe: dict[str, str],
    checkpoint: str,
    machine: str,
    components: list[dict[str, Any]],
    toolchain: dict[str, str],
    folder: str,
) -> None:
    """Puts a bundle together."""
    from safetensors import safe_open

    from kokoro_tvm.build.bundle import ComponentFiles, describe, write_bundle

    parts = [
        ComponentFiles(
            c["name"],
            Path(c["parameters"]),
            Path(c["weights"]),
            {int(bucket): Path(path) for bucket, path in c["libraries"].items()},
        )
        for c in components
    ]
    voices = Path(checkpoint, "voices.safetensors")
    with safe_open(str(Path(checkpoint, "weights.safetensors")), framework="numpy") as weights:
        synthetic = weights.metadata()["synthetic"] == "true"
    config = _read_json(Path(checkpoint, "config.json"))
    manifest = describe(recipe, config, _read_json(Path(machine)), parts, voices, synthetic, toolchain)
    sources = {"voices.safetensors": voices} | {f"{p.name}.safetensors": p.weights for p in parts}
    sources |= {f"{p.name}-{bucket}.so": path for p in parts for bucket, path in p.libraries.items()}
    write_bundle(Path(folder), manifest, sources)


def speech(bundle: str, references: list[str], gates: dict[str, Any], threads: int, out: str) -> None:
    """Compares what a bundle says with what the stock model says."""
    from kokoro_tvm.recipe import Gates
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.validate.artifact import validate_speech
    from kokoro_tvm.validate.gates import write_report
    from kokoro_tvm.validate.reference import load_reference

    tts = Synthesizer(bundle, threads=threads)
    report = validate_speech(
        lambda r: tts.run(r.tokens[0], r.ref_s, speed=r.speed, seed=r.seed),
        [load_reference(Path(path)) for path in references],
        Gates.model_validate(gates, strict=False),
    )
    write_report(report, Path(out))
    report.require()


def speak(bundle: str, phonemes: str, voice: str, out: str) -> None:
    """Says a sentence into a WAV file."""
    from kokoro_tvm.runtime import Synthesizer, write_wav

    said = Synthesizer(bundle).from_phonemes(phonemes, voice=voice)
    write_wav(Path(out), said.audio, said.sample_rate)


def _say(line: str) -> None:
    print(line, flush=True)


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write_json(path: Path, value: Any) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False), encoding="utf-8")
    partial.replace(path)
