"""What the child process of each stage does: read files, call the stage, write files. Arguments are JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kokoro_tvm.errors import BuildError, ValidationError

if TYPE_CHECKING:
    from kokoro_tvm.lower import Lowered
    from kokoro_tvm.report import Said

__all__ = [
    "bundle",
    "checkpoint",
    "compile_",
    "export",
    "intelligibility",
    "lower",
    "machine",
    "pack",
    "reference",
    "report",
    "speak",
    "speech",
    "validate",
]

# Heavy packages are imported where they are needed: no stage pays for another's.


def checkpoint(recipe: dict[str, Any], folder: str, root: str) -> None:
    """Fetches weights, voices and configuration into `folder`."""
    from kokoro_tvm.model.checkpoint import fetch
    from kokoro_tvm.recipe import Checkpoint

    fetch(Checkpoint.model_validate(recipe, strict=False), Path(folder), root=Path(root), log=_say)


def machine(target: dict[str, Any], precision: str, out: str) -> None:
    """Resolves a recipe's target and precision into machine.json."""
    from kokoro_tvm.target import resolve

    resolved = resolve(target["mcpu"], target["mtriple"], target["mattr"], precision)
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
    schedule: dict[str, Any],
    folder: str,
    dump_ir: str | None = None,
) -> None:
    """Writes module.py (TVMScript) and parameters.json; with `dump_ir` also the module after every pass."""
    count = 0

    def dump(name: str, module: Any) -> None:
        nonlocal count
        if dump_ir is not None:
            _write(Path(dump_ir, f"{count:02d}-{name}.py"), module.script(show_meta=True))
            count += 1
        _say(f"{name}: {len(module.functions)} functions")

    lowered = _lowered(component, program, machine, passes, pass_context, manifest, schedule, dump)
    if schedule:
        chosen = sum(p.packing is not None and p.packing.call.choice is not None for p in lowered.parameters)
        _say(f"schedule: {len(schedule)} layers, {chosen} weights are packed for them")
    _write(Path(folder, "module.py"), lowered.module.script(show_meta=True))
    _write_json(Path(folder, "parameters.json"), [p.to_json() for p in lowered.parameters])


def _lowered(
    component: str,
    program: str,
    machine: str,
    passes: list[str],
    pass_context: dict[str, Any],
    manifest: dict[str, Any],
    schedule: dict[str, Any],
    dump: Callable[[str, Any], None],
) -> Lowered:
    from kokoro_tvm.build.digest import digest, file_sha256
    from kokoro_tvm.export import load_program
    from kokoro_tvm.lower import lower as lower_program
    from kokoro_tvm.target import Machine

    target = _read_json(Path(machine))
    made_of = {
        "target": {key: target[key] for key in ("kind", "mtriple", "mcpu", "mattr")},
        "cpu_features": target["required"],
        "program": file_sha256(Path(program)),
        "schedule": digest(schedule) if schedule else None,
    }
    return lower_program(
        load_program(Path(program)),
        component=component,
        machine=Machine.from_json(target),
        passes=passes,
        pass_context=pass_context,
        manifest=manifest | made_of,
        schedule=schedule,
        dump=dump,
    )


def compile_(lowering: dict[str, Any], module: str, out: str) -> None:
    """Compiles what module.py says into a shared library; lowering: the arguments `lower` made it with.

    TVM takes ten times as long to read a module's script as we take to make the module again, so it is made
    again and only compared with the script.
    """
    from kokoro_tvm.compile import compile_module
    from kokoro_tvm.target import Machine

    made = _lowered(**lowering, dump=lambda name, module: None).module
    if made.script(show_meta=True) != Path(module).read_text(encoding="utf-8"):
        raise BuildError(f"lowering once more gave another module than {module}: a pass is not deterministic")
    _say("lowered; generating code")
    compile_module(made, Machine.from_json(_read_json(Path(lowering["machine"]))), Path(out))


def pack(parameters: list[str], weights: str, out: str) -> None:
    """Packs a component's weights; every bucket must want them alike."""
    import torch
    from safetensors.torch import load_file

    import kokoro_tvm.ops  # noqa: F401  (packings are looked up among the registered operations)
    from kokoro_tvm.lower import Parameter
    from kokoro_tvm.pack import pack_weights
    from kokoro_tvm.patches.weight_norm import fold_weight_norm

    told = [_read_json(Path(path)) for path in parameters]
    wanted = [_layout(entries) for entries in told]
    if any(other != wanted[0] for other in wanted):
        raise BuildError(
            f"the buckets pack weights differently and could not share them: {', '.join(parameters)}"
        )
    with torch.no_grad():
        state = {name: tensor.numpy() for name, tensor in fold_weight_norm(load_file(weights)).items()}
    pack_weights([Parameter.from_json(p) for p in told[0]], state, Path(out))


def _layout(parameters: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(p["name"], p["dtype"], p["shape"], (p["packing"] or {}).get("name")) for p in parameters]


def reference(checkpoint: str, utterances: list[dict[str, Any]], kept: str, folder: str) -> None:
    """Computes what the stock model says, in float64 and float32, for every utterance that `kept` lacks."""
    from kokoro_tvm.build.references import ReferenceStore
    from kokoro_tvm.recipe import Utterance
    from kokoro_tvm.validate.reference import save_reference

    specs = [Utterance.model_validate(u, strict=False) for u in utterances]
    for found in ReferenceStore(Path(checkpoint), Path(kept), _say).references(specs):
        save_reference(found, Path(folder, f"{found.name}.safetensors"))


def validate(
    bundle: dict[str, Any], references: list[str], gates: dict[str, Any], threads: int, out: str
) -> None:
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
        return dict(
            zip((port.name for port in component.outputs), (np.array(o) for o in outputs), strict=True)
        )

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
    provenance: dict[str, Any],
    folder: str,
) -> None:
    """Puts a bundle together. provenance: what `statement` takes, but for what is found here."""
    from safetensors import safe_open

    from kokoro_tvm.build.bundle import ComponentFiles, describe, write_bundle
    from kokoro_tvm.build.provenance import statement

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
        metadata = weights.metadata()
    config, target = _read_json(Path(checkpoint, "config.json")), _read_json(Path(machine))
    synthetic = metadata["synthetic"] == "true"
    manifest = describe(recipe, config, target, parts, voices, synthetic, toolchain)
    sources = {"voices.safetensors": voices} | {f"{p.name}.safetensors": p.weights for p in parts}
    sources |= {f"{p.name}-{bucket}.so": path for p in parts for bucket, path in p.libraries.items()}
    told = provenance | {"weights": metadata["sha256"], "toolchain": toolchain}
    write_bundle(Path(folder), manifest, sources, lambda files: statement(files=files, **told))


def speech(bundle: str, references: list[str], gates: dict[str, Any], threads: int, out: str) -> None:
    """Compares what a bundle says with what the stock model says, on the utterances its buckets can hold."""
    from dataclasses import replace

    from kokoro_tvm.recipe import Gates
    from kokoro_tvm.runtime import Speech, Synthesizer, TooLongError
    from kokoro_tvm.validate.artifact import LONGER, validate_speech
    from kokoro_tvm.validate.gates import UtteranceReport, write_report
    from kokoro_tvm.validate.reference import load_reference

    tts, told = Synthesizer(bundle, threads=threads), Gates.model_validate(gates, strict=False)
    spoken: dict[str, Speech] = {}
    fitting, longer = [], []
    for reference in (load_reference(Path(path)) for path in references):
        fits = all(reference.length(axis) <= tts.bundle.largest(axis) for axis in ("tokens", "frames"))
        try:
            if fits:
                _say(f"saying {reference.name}")
                spoken[reference.name] = tts.run(
                    reference.tokens[0], reference.ref_s, speed=reference.speed, seed=reference.seed
                )
        except TooLongError as error:
            if told.enforce:
                raise ValidationError(
                    f"{reference.name} is spoken longer than by the stock model: {error}"
                ) from error
            fits = False
        if fits:
            fitting.append(reference)
        else:
            longer.append(UtteranceReport(reference.name, reference.frames, reason=LONGER))
    report = validate_speech(lambda r: spoken[r.name], fitting, told)
    report = replace(report, utterances=(*report.utterances, *longer))
    write_report(report, Path(out))
    report.require()


def intelligibility(bundle: str, checkpoint: str, gates: dict[str, Any], threads: int, out: str) -> None:
    """Compares what a speech recogniser understands of a bundle and of the stock model."""
    from kokoro_tvm.model.kokoro import load_config, load_state
    from kokoro_tvm.recipe import Gates
    from kokoro_tvm.validate.gates import limits_of, write_report
    from kokoro_tvm.validate.intelligibility import validate_intelligibility
    from kokoro_tvm.validate.listening import listen
    from kokoro_tvm.validate.recogniser import MISSING, open_recogniser

    told, recogniser = Gates.model_validate(gates, strict=False), open_recogniser()
    heard = None
    if recogniser is None:
        _say(f"not run: {MISSING}")
    else:
        model = load_config(Path(checkpoint)), load_state(Path(checkpoint))
        heard = listen(Path(bundle), *model, recogniser, threads=threads, progress=_say)
    report = validate_intelligibility(heard, limits_of(told, "intelligibility"), told.enforce)
    write_report(report, Path(out))
    if heard is not None:
        report.require()


def speak(bundle: str, phonemes: str, voice: str, out: str) -> None:
    """Says a sentence into a WAV file."""
    from kokoro_tvm.runtime import Synthesizer, write_wav

    said = Synthesizer(bundle).from_phonemes(phonemes, voice=voice)
    write_wav(Path(out), said.audio, said.sample_rate)


def report(
    bundle: str,
    references: list[str],
    validations: list[str],
    speech: str,
    machine: str,
    stages: list[dict[str, Any]],
    logs: list[str],
    threads: int,
    out: str,
) -> None:
    """Writes the page about a bundle, which says every utterance once more for it."""
    from kokoro_tvm.report import BuiltStage, Facts, write_page

    spoken, longer = _spoken(bundle, references, threads)
    built = [
        BuiltStage(
            name=stage["name"],
            seconds=stage["seconds"],
            cpu_seconds=stage["cpu_seconds"],
            log=log if Path(bundle, log).is_file() else "",
            outputs=tuple((file, size, sha) for file, size, sha in stage["outputs"]),
        )
        for stage, log in zip(stages, logs, strict=True)
    ]
    told = _read_json(Path(machine))
    vectors = f"{told['features']['lanes']} lanes of float32, {told['features']['registers']} registers"
    facts = Facts(
        manifest=_read_json(Path(bundle, "bundle.json")),
        reports=[_read_json(Path(path)) for path in validations],
        speech=_read_json(Path(speech)),
        said=spoken,
        longer=longer,
        stages=built,
        machine={"CPU": told["mcpu"], "triple": told["mtriple"], "vectors": vectors},
    )
    _say(f"{write_page(facts, Path(out)).stat().st_size:,} bytes")


def _spoken(bundle: str, references: list[str], threads: int) -> tuple[list[Said], list[str]]:
    """What the bundle says of the utterances that fit it, and the names of the others."""
    from kokoro_tvm.report import Said
    from kokoro_tvm.runtime import TooLongError, read_bundle
    from kokoro_tvm.runtime.session import Session
    from kokoro_tvm.validate.engine import TvmEngine, chain
    from kokoro_tvm.validate.reference import load_reference

    engine = TvmEngine(Session(read_bundle(bundle), threads))
    spoken: list[Said] = []
    longer: list[str] = []
    for path in references:
        reference = load_reference(Path(path))
        _say(f"saying {reference.name}")
        try:
            found = chain(engine, reference).values
        except TooLongError as error:
            _say(f"{reference.name}: {error}")
            longer.append(reference.name)
            continue
        spoken.append(Said(reference, found["audio"], found["f0"], found["pred_dur"]))
    return spoken, longer


def _say(line: str) -> None:
    print(line, flush=True)


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write_json(path: Path, value: Any) -> None:
    _write(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
