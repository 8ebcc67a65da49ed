"""A bundle small enough to compile in a test, and a stand-in for compiled code.

Its components have the signatures of the real ones with fewer channels, and compute something simple.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kokoro_tvm
from kokoro_tvm.common.noise import draw_noise

VOCABULARY = {symbol: index + 1 for index, symbol in enumerate(" .,;:!?…—ˈabcdefghijklmnopəɹ")}
STYLE = 2  # style_dim of the toy
CHANNELS = 4
SAMPLES = 10  # samples per frame
SIGNATURES: dict[str, tuple[str, list[tuple[str, str, list[Any]]], list[tuple[str, str, list[Any]]]]] = {
    "bert": ("tokens", [("tokens", "int64", [1, "T"])], [("d_en", "float32", [1, CHANNELS, "T"])]),
    "duration": (
        "tokens",
        [("d_en", "float32", [1, CHANNELS, "T"]), ("style", "float32", [1, STYLE])],
        [("duration", "float32", [1, "T"]), ("d", "float32", [1, CHANNELS, "T"])],
    ),
    "text_encoder": ("tokens", [("tokens", "int64", [1, "T"])], [("t_en", "float32", [1, CHANNELS, "T"])]),
    "f0n": (
        "frames",
        [("en", "float32", [1, CHANNELS, "F"]), ("style", "float32", [1, STYLE])],
        [("f0", "float32", [1, "2*F"]), ("n", "float32", [1, "2*F"])],
    ),
    "decoder": (
        "frames",
        [
            ("asr", "float32", [1, CHANNELS, "F"]),
            ("f0", "float32", [1, "2*F"]),
            ("n", "float32", [1, "2*F"]),
            ("style", "float32", [1, STYLE]),
            ("noise", "float32", [1, "10*F"]),
        ],
        [("audio", "float32", [1, "10*F"])],
    ),
}
SEEDED = [*SIGNATURES["decoder"][1][:-1], ("seed", "uint32", [3])]  # inputs of the decoder's second entry
SCALE = np.array([0.5, 1.0, 0.25, 2.0, 9.0], np.float32)[:CHANNELS]


def write_safetensors(path: Path, tensors: dict[str, np.ndarray], pad: int = 1) -> None:
    """Float32 tensors as safetensors with data on 64-byte boundaries, flat and padded if `pad` is given."""
    header: dict[str, Any] = {"__metadata__": {"made": "for a test"}}
    body = b""
    for name, array in tensors.items():
        data = array.astype("<f4").tobytes()
        data += b"\0" * (-len(data) % pad)
        shape = list(array.shape) if pad == 1 else [len(data) // 4]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def file_entry(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"file": path.name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def write_bundle(folder: Path, length: str = "exact", buckets: dict[str, list[int]] | None = None) -> Path:
    """A bundle with every file a bundle has, whose libraries hold no code yet."""
    buckets = buckets or {"tokens": [16, 64], "frames": [32, 128]}
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    names = ("af_heart", "am_adam", "bf_emma", "ef_dora", "jf_alpha")
    voices = {name: rng.standard_normal((510, 2 * STYLE)).astype(np.float32) for name in names}
    write_safetensors(folder / "voices.safetensors", voices)
    components = {}
    for name, (axis, inputs, outputs) in SIGNATURES.items():
        write_safetensors(folder / f"{name}.safetensors", {"scale": SCALE}, pad=64)
        for bucket in buckets[axis]:
            (folder / f"{name}-{bucket}.so").write_bytes(f"{name} {bucket}".encode())
        last = [("length", "int64", [1])] if length == "masked" else []
        ports = [
            [dict(zip(("name", "dtype", "shape"), port, strict=True)) for port in side]
            for side in ([*inputs, *last], outputs, [*SEEDED, *last])
        ]
        components[name] = {
            "axis": axis,
            "storage_step": 64,
            "function": f"{name}_forward",
            "inputs": ports[0],
            "outputs": ports[1],
            "parameters": [{"name": "scale", "dtype": "float32", "shape": [CHANNELS]}],
            "weights": file_entry(folder / f"{name}.safetensors"),
            "libraries": [
                {"bucket": b, **file_entry(folder / f"{name}-{b}.so")} for b in reversed(buckets[axis])
            ],
        }
        if name == "decoder":
            components[name]["seeded"] = {"function": "decoder_seeded", "inputs": ports[2]}
    manifest = {
        "schema": 5,
        "version": kokoro_tvm.__version__,
        "recipe": "toy",
        "model": "toy",
        "length": length,
        "precision": "float32",
        "synthetic": False,
        "target": {"kind": "llvm"},
        "cpu_features": [],
        "sample_rate": 24000,
        "samples_per_frame": SAMPLES,
        "style_dim": STYLE,
        "vocabulary": VOCABULARY,
        "context_length": 512,
        "voices": file_entry(folder / "voices.safetensors"),
        "front_end": None,
        "components": components,
        "toolchain": {"apache-tvm": "0"},
    }
    (folder / "bundle.json").write_text(json.dumps(manifest))
    return folder


def edit_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Apply `change` to the parsed bundle.json and write it back."""
    path = folder / "bundle.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def refresh(folder: Path) -> None:
    """Write the present sizes and digests of all files into bundle.json."""

    def change(manifest: dict[str, Any]) -> None:
        for component in manifest["components"].values():
            for entry in (component["weights"], *component["libraries"]):
                entry.update(file_entry(folder / entry["file"]))

    edit_manifest(folder, change)


class FakeRunner:
    """The five functions in numpy; remembers the calls. A token lasts as many frames as its id, at most 9."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def run(self, component: str, length: int, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        self.calls.append((component, length))
        ports = SEEDED if component == "decoder_seeded" else SIGNATURES[component][1]
        for array, (name, dtype, shape) in zip(inputs, ports, strict=True):
            sizes = {"T": length, "F": length, "2*F": 2 * length, "10*F": 10 * length}
            assert (name, array.shape) == (name, tuple(sizes.get(s, s) for s in shape))
            assert array.dtype == dtype
        return getattr(self, component)(*inputs)

    def bert(self, tokens: np.ndarray) -> tuple[np.ndarray]:
        return ((SCALE[None, :, None] * tokens[:, None]).astype(np.float32),)

    def duration(self, d_en: np.ndarray, style: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.minimum(d_en[:, 1], 9), (d_en + style[:, :1, None]).astype(np.float32)

    text_encoder = bert

    def f0n(self, en: np.ndarray, style: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        f0 = np.repeat(en.sum(1), 2, axis=1)
        return f0, f0 * style[:, 1:]

    def decoder(
        self, asr: np.ndarray, f0: np.ndarray, n: np.ndarray, style: np.ndarray, noise: np.ndarray
    ) -> Any:
        voiced = np.repeat(asr[:, 0], SAMPLES, axis=1) + np.repeat(f0 + n, SAMPLES // 2, axis=1)
        return ((voiced * style[0, 0] + noise).astype(np.float32),)

    def decoder_seeded(self, *inputs: np.ndarray) -> Any:
        low, high, piece = map(int, inputs[-1])
        noise = draw_noise(low | high << 32, SAMPLES * inputs[0].shape[2], piece)
        return self.decoder(*inputs[:-1], noise[np.newaxis])


def compile_into(folder: Path, length: str, recipe: str | None = None) -> None:
    """recipe: for whose machine; None: this one."""
    manifest = json.loads((folder / "bundle.json").read_text())
    for name, component in manifest["components"].items():
        for library in component["libraries"]:
            compile_library(folder / library["file"], name, library["bucket"], length, recipe=recipe)


def compile_library(
    path: Path,
    name: str,
    bucket: int,
    length: str,
    *,
    claims: dict[str, Any] | None = None,
    kernels: dict[str, Any] | None = None,
    channels_last: bool = False,
    recipe: str | None = None,
) -> None:
    """Compile one toy component; `claims` overrides what the library says of itself, `kernels` of them;
    `recipe`: for whose machine."""
    import tvm
    from tvm import relax, te

    import kokoro_tvm.kernels  # noqa: F401  (registers the operations)

    size = tvm.tirx.Var("size", "int64") if length == "exact" else bucket
    sizes = {"T": size, "F": size, "2*F": size * 2, "10*F": size * SAMPLES}

    def parameters(ports: list[Any]) -> tuple[list[Any], list[Any], Any]:
        args = [
            relax.Var(port, relax.TensorType([sizes.get(s, s) for s in shape], dtype))
            for port, dtype, shape in ports
        ]
        extra = [relax.Var("length", relax.TensorType((1,), "int64"))] if length == "masked" else []
        return args, extra, relax.Var("scale", relax.TensorType((CHANNELS,), "float32"))

    args, extra, scale = parameters(SIGNATURES[name][1])

    def valid(place: Any, limit: Any, value: Any) -> Any:
        """`value` on the valid part and garbage after it, where a length says so."""
        if not limit:
            return value
        return tvm.tirx.if_then_else(place < limit[0][0], value, tvm.tirx.const(float("nan"), "float32"))

    def bert(tokens: Any, scale: Any, *limit: Any) -> Any:
        return te.compute(
            (1, CHANNELS, size),
            lambda i, c, t: valid(t, limit, scale[c] * tokens[i, t].astype("float32")),
            name="d_en",
        )

    def durations(d_en: Any, *_: Any) -> Any:
        nine = tvm.tirx.const(9.0, "float32")
        return te.compute((1, size), lambda i, t: tvm.tirx.min(d_en[i, 1, t], nine))

    def styled(d_en: Any, style: Any) -> Any:
        return te.compute((1, CHANNELS, size), lambda i, c, t: d_en[i, c, t] + style[i, 0])

    def f0(en: Any) -> Any:
        return te.compute(
            (1, size * 2),
            lambda i, t: en[i, 0, t // 2] + en[i, 1, t // 2] + en[i, 2, t // 2] + en[i, 3, t // 2],
        )

    def scaled(f0: Any, style: Any) -> Any:
        return te.compute((1, size * 2), lambda i, t: f0[i, t] * style[i, 1])

    def decoder(asr: Any, f0: Any, n: Any, style: Any, noise: Any) -> Any:
        def sample(i: Any, t: Any) -> Any:
            voiced = asr[i, 0, t // SAMPLES] + (f0[i, t // 5] + n[i, t // 5])
            return voiced * style[i, 0] + noise[i, t]

        return te.compute((1, size * SAMPLES), sample)

    builder = relax.BlockBuilder()
    with builder.function(f"{name}_forward", [*args, *extra, scale]):
        if name in {"bert", "text_encoder"}:
            out: Any = builder.emit_te(bert, *args, scale, *extra)
        elif name == "duration":
            out = relax.Tuple([builder.emit_te(durations, *args), builder.emit_te(styled, *args)])
        elif name == "f0n":
            pitch = builder.emit_te(f0, args[0])
            out = relax.Tuple([pitch, builder.emit_te(scaled, pitch, args[1])])
        else:
            out = builder.emit_te(decoder, *args)
        if channels_last:
            out = builder.emit(relax.op.permute_dims(out, [0, 2, 1]))
        builder.emit_func_output(out)
    if name == "decoder":
        from kokoro_tvm.common.features import Features
        from kokoro_tvm.kernels.base.semantic import OpCall, registry

        shapes = {"f0": (1, "n"), "seed": (3,)}
        call = OpCall(shapes, {"upsample": SAMPLES // 2}, (1, "m"), Features(lanes=1, registers=16))
        draw = builder.add_func(registry()["normal_noise"].kernel(call), "draw")
        args, extra, scale = parameters(SEEDED)
        with builder.function("decoder_seeded", [*args, *extra, scale]):
            noise_type = relax.TensorType((1, size * SAMPLES), "float32")
            noise = builder.emit(relax.call_tir(draw, [args[1], args[-1]], out_ty=noise_type))
            builder.emit_func_output(builder.emit_te(decoder, *args[:-1], noise))
    manifest = {
        "component": name,
        "bucket": bucket,
        "length": length,
        "precision": "float32",
        "project": "test",
    }
    with builder.function(f"{name}_manifest", []):
        builder.emit_func_output(tvm.ir.StringImm(json.dumps(manifest | (claims or {}))))
    if kernels is not None:
        with builder.function(f"{name}_kernels", []):
            builder.emit_func_output(tvm.ir.StringImm(json.dumps(kernels)))
    if recipe is None:
        tvm.compile(builder.get(), target=tvm.target.Target({"kind": "llvm"})).export_library(str(path))
        return
    from elsewhere import machine_for, recipe_of

    from kokoro_tvm.targets import tools_for, tvm_target

    def link(out: str, objects: list[str], **_: Any) -> None:
        toolchain = tools_for(recipe_of(recipe).target).toolchain()
        toolchain.link([Path(each) for each in objects if each.endswith(".o")], Path(out))

    made = tvm.compile(builder.get(), target=tvm_target(machine_for(recipe)))
    made.export_library(str(path), fcompile=link)
