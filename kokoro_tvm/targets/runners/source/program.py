"""GPU kernels as a C++ library that TVM loads in place of the GPU's code."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains.cc import NATIVE_CXX, CCompiler, tvm_ffi_headers
from kokoro_tvm.targets.runners.source.languages import LANGUAGES, ShaderLanguage

if TYPE_CHECKING:  # it imports numpy, which a build with nothing to do does not need
    from kokoro_tvm.runtime.bundle.device_code import DeviceCode, DeviceFunction

PURPOSE = ("execute GPU kernels with",)
"""Purpose of the compiler in messages, see `version_of`."""

_FOLDER = Path(__file__).parent
_AXES = [f"{of}.{axis}" for of in ("blockIdx", "threadIdx") for axis in "xyz"]
_ZONE = 64  # as group.h has it
_SIZES = {
    "float": 4,
    "int": 4,
    "uint": 4,
    "half": 2,
    "float2": 8,
    "half2": 4,
    "half4": 8,
    "uchar": 1,
    "char": 1,
}
_LARGEST = 16
OPTIONS = (
    *("-std=c++17", "-O3", "-fPIC", "-w", "-pthread"),
    "-fvisibility=hidden",  # or libraries would share what group.h keeps
    # A GPU's compiler fuses multiplications with additions too.
    "-ffp-contract=fast",
    # Registers are not initialized.
    "-ftrivial-auto-var-init=pattern",
    # A thread's stack has 32 KB.
    "-Werror=frame-larger-than=16384",
)


def headers_digest() -> str:
    """Return the SHA-256 of the headers that kernels are compiled with."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(_FOLDER.glob("*.h")))).hexdigest()


class Order(IntEnum):
    """Order in which threads and workgroups run. A result that depends on it is wrong."""

    FORWARDS = 0
    BACKWARDS = 1
    SHUFFLED = 2
    EACH_LAUNCH_ANOTHER = 3


def load(
    code: DeviceCode, order: Order = Order.EACH_LAUNCH_ANOTHER, cores: int = 0, races: bool = False
) -> Any:
    """Compile kernels and load them as a TVM module.

    A kernel whose threads wait forever raises RuntimeError when it is called.

    Args:
        code: The kernels.
        order: Order of threads and workgroups.
        cores: Threads that compute together, 0 for all cores that this process may use.
        races: Whether two threads at one element of shared memory between two barriers, one of them writing
            it, are an error. The check slows every kernel down.

    Raises:
        BuildError: g++ is missing or refuses the kernels.
    """
    import tvm_ffi

    from kokoro_tvm.runtime.threads import usable_cores

    with TemporaryDirectory(prefix="kokoro-tvm-") as folder:
        library = Path(folder, "kernels.so")
        options = ("-march=native", *(["-DGROUP_RACES"] if races else []))
        compile_kernels(code, library, NATIVE_CXX, *options)
        module = tvm_ffi.load_module(str(library))

    module["choose"](int(order), cores or usable_cores())
    return module


def compile_kernels(code: DeviceCode, out: Path, compiler: CCompiler, *options: str) -> None:
    """Compile kernels to a library that TVM can load.

    Raises:
        BuildError: The compiler is not installed or refuses the kernels.
    """
    from kokoro_tvm.runtime.threads import usable_cores

    version = compiler.version(*PURPOSE)
    headers = [f"-I{_FOLDER}", "-isystem", str(tvm_ffi_headers())]
    command = [compiler.command, *OPTIONS, *options, *headers]
    names = [*code.functions]

    workers = max(1, min(len(names), usable_cores()))
    with TemporaryDirectory(prefix="kokoro-tvm-") as folder, ThreadPoolExecutor(workers) as pool:

        def run(*arguments: str) -> None:
            """Run the compiler. Raises BuildError with its first lines of output."""
            process = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
            if process.returncode:
                raise BuildError(
                    f"{version} refuses the kernels {', '.join(names)} for {code.kind}: "
                    f"{process.stderr.strip()[:2000]}"
                )

        def compiled(number: int) -> str:
            """Translate and compile every `workers`th kernel from `number` on; return the object file."""
            source, target = Path(folder, f"{number}.cc"), Path(folder, f"{number}.o")
            source.write_text(translate(code, names[number::workers]), encoding="utf-8")
            run("-c", str(source), "-o", str(target))
            return str(target)

        # What TVM puts before kernels of float16 has functions that are not inline; every part has the same.
        run("-shared", "-Wl,--allow-multiple-definition", *pool.map(compiled, range(workers)), "-o", str(out))


def translate(code: DeviceCode, names: Sequence[str]) -> str:
    """Return the C++ text of kernels, each with a function that TVM can call.

    Raises:
        BuildError: The kind of GPU has no `ShaderLanguage`, the kernels are machine code, or see
            `_write_caller`.
    """
    if code.kind not in LANGUAGES or code.form != code.kind:
        raise BuildError(f"kernels for {code.kind} as {code.form or 'they are'} have no source to execute")
    language = LANGUAGES[code.kind]
    text = language.text(code, names)
    heads = [*language.head.finditer(text)]
    parts, calls = [text[: heads[0].start()]], []
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        part = text[head.start() : following.start() if following else None]
        end = part.index(")" + (";" if _is_declaration(part) else " {"))
        if _is_declaration(part):
            parts.append(part[end + 2 :])
            continue
        if head[1] not in names:
            continue
        start = head.end() - head.start()
        parameters = re.split(r",\s*", part[start:end].strip())
        function = code.functions[head[1]]
        body, arrays = _place_arrays(part[end:], language)
        parts.append(f"static void {head[1]}(const group::Thread& here, {part[start:end]}{body}")
        calls.append(
            _write_caller(code.kind, function, parameters, arrays, bool(language.waits.search(body)))
        )
    return "\n".join([f'#include "{language.header}"', "".join(parts), *calls])


def _is_declaration(part: str) -> bool:
    """Return whether a kernel's part of the text only declares it."""
    return "{" not in part.partition(";")[0]


def _place_arrays(body: str, language: ShaderLanguage) -> tuple[str, list[tuple[int, int]]]:
    """Move shared arrays into the workgroup's memory; return the body and each array's bytes there."""
    arrays: list[tuple[int, int]] = []

    def place(match: re.Match[str]) -> str:
        """Replace a declaration by the array's place in the workgroup's memory, which is recorded."""
        kind, name, count = match.groups()
        start = (arrays[-1][1] if arrays else 0) + _ZONE
        start = -(-start // _ZONE) * _ZONE
        arrays.append((start, start + int(count) * _SIZES.get(kind, _LARGEST)))
        return f"SHARED({kind}, {name}, {count}, {start});"

    declaration = rf"{language.shared}\s+(?:alignas\(\d+\)\s+)?(\w+)\s+(\w+)\[(\d+)\];"
    body = re.sub(declaration, place, body)
    for name in re.findall(r"SHARED\(\w+, (\w+),", body):
        body = re.sub(rf"\(\((?:threadgroup )?(\w+)\*\){name}\)\[", rf"SHARED_AS(\1, {name})[", body)
    return body, arrays


def _write_caller(
    kind: str, function: DeviceFunction, parameters: list[str], arrays: list[tuple[int, int]], waits: bool
) -> str:
    """Return the C++ function that TVM calls; the launch's extents follow the arguments.

    Args:
        kind: Kind of GPU.
        function: The kernel's signature.
        parameters: Its parameters in the source.
        arrays: First and last byte of each shared array, from `_place_arrays`.
        waits: Whether threads wait for one another.

    Raises:
        BuildError: The launch has another axis than blocks and threads, or a parameter has no argument.
    """
    extents = dict.fromkeys(_AXES, "1")
    for number, tag in enumerate(function.launch, len(function.arguments)):
        if tag not in extents:
            raise BuildError(f"{function.name}: a launch with {tag} cannot be executed from source")
        extents[tag] = f"unsigned(given[{number}].v_int64)"
    x, y, z, *threads = extents.values()
    spans = ", ".join(f"{{{start}, {end}}}" for start, end in arrays) or "{0, 0}"
    arguments = ", ".join(["here", *LANGUAGES[kind].arguments(parameters, function)])
    return f"""
namespace {kind}::of_{function.name} {{
extern "C" __attribute__((visibility("default"))) int __tvm_ffi_{function.name}(
    void*, const TVMFFIAny* given, int32_t, TVMFFIAny* result) {{
  static const group::Span arrays[] = {{{spans}}};
  group::Launch launch{{
      "{function.name}", {{{x}, {y}, {z}}}, {{{", ".join(threads)}}}, arrays, {len(arrays)}}};
  return group::run<{str(waits).lower()}>(launch, result, [=](const group::Thread& here) {{
    {function.name}({arguments});
  }});
}}
}}"""
