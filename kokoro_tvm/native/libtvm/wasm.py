"""The TVM runtime as one WebAssembly module, which `kokoro_tvm/web/runtime` runs.

Sources as for other platforms, without files, and without threads of their own: JavaScript has them, and
instances of this module on the same memory. Exceptions are WebAssembly's own, so an error of TVM unwinds to
whoever called and becomes an error there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from kokoro_tvm.native.libtvm.sources import FLAGS, ffi_sources, include_flags, runtime_sources
from kokoro_tvm.native.toolchains.lld import IMPORTED
from kokoro_tvm.native.toolchains.zig import MOST_MEMORY, Zig

__all__ = ["WASM", "compile_wasm", "sources"]

WASM = "libtvm.wasm"

_HERE = Path(__file__).with_name("platform")
# The virtual machine needs no more: no threads and files, nothing that compares or copies objects.
_WITHOUT = ("thread_pool.cc", "threading_backend.cc", "file_utils.cc")
_FFI = (
    *("container", "custom_allocator", "dtype", "error", "function", "init_once", "object", "tensor"),
    *("env_c_api", "env_context", "json_parser", "json_writer"),
    *("library_module", "library_module_dynamic_lib", "module"),
)
_TARGET = ("-target", "wasm32-wasi", "-mcpu=generic+simd128+exception_handling+bulk_memory")
# What JavaScript calls, and what compiled kernels take from outside.
_EXPORTS = (
    *("aligned_alloc", "free", "TVMFFIObjectIncRef", "TVMFFIFunctionGetGlobal", "TVMFFIFunctionCall"),
    *("TVMFFIErrorMoveFromRaised", "TVMFFIObjectDecRef", "TVMFFITensorFromDLPack", "__stack_pointer"),
    *("__truncsfhf2", "__extendhfsf2"),
    *(name for names in IMPORTED.values() for name in names),
)
_STACK = 1 << 20
_INITIAL = 1 << 22  # bytes, of which data and stack take two thirds; what is allocated comes behind
# What kernels call while they run side by side has a name of ours, and a lock around it: see wasm.cc.
_LOCKED = {
    "TVMBackendAllocWorkspace": "kokoro_alloc_workspace",
    "TVMBackendFreeWorkspace": "kokoro_free_workspace",
}
_HANDS_OVER = "module.cc"  # to kernels, functions of these names: those of wasm.cc
# What has the memory of tensors, and what it gets it from: blocks.cc.
_ALLOCATES = "cpu_device_api.cc"
_BLOCKS = {"posix_memalign": "kokoro_take_block", "free": "kokoro_give_block"}


def sources() -> list[Path]:
    """Those of our own."""
    return [*(_HERE / name for name in ("wasm.cc", "blocks.cc", "webgpu.cc", "single.h"))]


def compile_wasm(zig: Zig, out: Path, processes: int) -> None:
    """Writes WASM into a folder. processes: how many compilers run together.

    Raises BuildError where the compiler is not installed or fails, or where TVM is not installed.
    """
    flags = [*_TARGET, *FLAGS, *include_flags(), "-g0", "-include", str(_HERE / "single.h")]
    flags += ["-DTVM_FFI_CMAKE_LITTLE_ENDIAN=1", "-Wno-everything", f"-ffile-prefix-map={_HERE}={_HERE.name}"]
    ffi = [path for path in ffi_sources() if path.stem in _FFI]
    runtime = {path.name: path for path in runtime_sources() if path.name not in _WITHOUT}
    hands_over, allocates = runtime.pop(_HANDS_OVER), runtime.pop(_ALLOCATES)
    with TemporaryDirectory(prefix="kokoro-tvm-") as folder:
        units: dict[Path, list[str]] = {
            _HERE / "wasm.cc": [],
            _HERE / "blocks.cc": [],
            _HERE / "webgpu.cc": [],
            _unit(ffi, Path(folder, "ffi.cc")): [],
            hands_over: [],
            allocates: [*_renamed(_LOCKED), *_renamed(_BLOCKS)],
            _unit([*runtime.values()], Path(folder, "tvm.cc")): _renamed(_LOCKED),
        }
        commands = _exceptions(
            zig
        )  # first: the linker takes nothing of the C++ library that is there already
        commands += [
            ([*flags, *more, "-fwasm-exceptions", "-c", str(unit)], unit.name) for unit, more in units.items()
        ]
        made = [str(Path(folder, f"{number}.o")) for number in range(len(commands))]

        def compile_one(number: int) -> None:
            arguments, name = commands[number]
            zig.run([*arguments, "-o", made[number]], name)

        with ThreadPoolExecutor(processes) as pool:
            list(pool.map(compile_one, range(len(made))))
        zig.run([*_TARGET, *_link_options(), *made, "-o", str(out / WASM)], WASM)


def _renamed(names: Mapping[str, str]) -> list[str]:
    return [f"-D{name}={ours}" for name, ours in names.items()]


def _unit(sources: Sequence[Path], path: Path) -> Path:
    """One source of several, as TVM's own build for the web has it: they share most of their headers."""
    path.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
    return path


def _exceptions(zig: Zig) -> list[tuple[list[str], str]]:
    """What throws and catches, which zig's own C++ library for WASI lacks."""
    lib = zig.folder / "lib"
    abi, unwind = lib / "libcxxabi", lib / "libunwind"
    flags = [*_TARGET, "-O2", "-g0", "-fwasm-exceptions", "-fdeclspec", "-fvisibility=hidden"]
    flags += ["-D_LIBCXXABI_BUILDING_LIBRARY", "-D_LIBCPP_BUILDING_LIBRARY", "-D_LIBCXXABI_HAS_NO_THREADS"]
    places = (abi / "include", lib / "libcxx" / "src", abi / "src", unwind / "include")
    flags += [f"-I{place}" for place in places]
    files = [abi / "src" / "cxa_exception.cpp", abi / "src" / "cxa_personality.cpp"]
    made = [([*flags, "-std=c++23", "-c", str(file)], file.name) for file in files]
    return [*made, ([*flags, "-x", "c", "-c", str(unwind / "src" / "Unwind-wasm.c")], "Unwind-wasm.c")]


def _link_options() -> Sequence[str]:
    options = [*(f"--export={name}" for name in _EXPORTS), "--export-table", "--growable-table"]
    options += ["--import-memory", f"--initial-memory={_INITIAL}", f"--max-memory={MOST_MEMORY}"]
    options += ["-z", f"stack-size={_STACK}"]
    return ["-mexec-model=reactor", "-O2", "-s", *(f"-Wl,{option}" for option in options)]
