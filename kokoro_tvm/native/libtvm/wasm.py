"""The TVM runtime as one WebAssembly module, which `kokoro_tvm/web/runtime` executes.

It has the sources of other platforms without files and threads. Threads are workers of JavaScript with
instances of this module on the same memory. Exceptions are WebAssembly's own: an error of TVM unwinds to
the
caller and becomes an error there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from kokoro_tvm.native.libtvm.sources import FLAGS, ffi_sources, include_flags, runtime_sources
from kokoro_tvm.native.toolchains.lld import IMPORTED
from kokoro_tvm.native.toolchains.zig import MOST_MEMORY, Zig

WASM = "libtvm.wasm"

_HERE = Path(__file__).with_name("platform")
# The virtual machine needs no threads and files, and nothing that compares or copies objects.
_WITHOUT = ("thread_pool.cc", "threading_backend.cc", "file_utils.cc")
_FFI = (
    *("container", "custom_allocator", "dtype", "error", "function", "init_once", "object", "tensor"),
    *("env_c_api", "env_context", "json_parser", "json_writer"),
    *("library_module", "library_module_dynamic_lib", "module"),
)
_TARGET = ("-target", "wasm32-wasi", "-mcpu=generic+simd128+exception_handling+bulk_memory")
# Functions that JavaScript calls, and imports of compiled kernels.
_EXPORTS = (
    *("aligned_alloc", "free", "TVMFFIObjectIncRef", "TVMFFIFunctionGetGlobal", "TVMFFIFunctionCall"),
    *("TVMFFIErrorMoveFromRaised", "TVMFFIObjectDecRef", "TVMFFITensorFromDLPack", "__stack_pointer"),
    *("__truncsfhf2", "__extendhfsf2"),
    *(name for names in IMPORTED.values() for name in names),
)
_STACK = 1 << 20
_INITIAL = 1 << 22  # bytes; data and stack take two thirds, the heap follows
# Functions that kernels call concurrently: wasm.cc wraps them in a lock under these names.
_LOCKED = {
    "TVMBackendAllocWorkspace": "kokoro_alloc_workspace",
    "TVMBackendFreeWorkspace": "kokoro_free_workspace",
}
_MODULE = "module.cc"  # passes the functions of wasm.cc to kernels
# The allocator of tensors takes its memory from blocks.cc.
_ALLOCATOR = "cpu_device_api.cc"
_BLOCKS = {"posix_memalign": "kokoro_take_block", "free": "kokoro_give_block"}


def sources() -> list[Path]:
    """List the sources of this package."""
    return [*(_HERE / name for name in ("wasm.cc", "blocks.cc", "webgpu.cc", "single.h"))]


def compile_wasm(zig: Zig, out: Path, processes: int) -> None:
    """Compile WASM into a folder; `processes` compilers run at a time.

    Raises:
        BuildError: The compiler is missing or fails, or TVM is not installed.
    """
    flags = [*_TARGET, *FLAGS, *include_flags(), "-g0", "-include", str(_HERE / "single.h")]
    flags += ["-DTVM_FFI_CMAKE_LITTLE_ENDIAN=1", "-Wno-everything", f"-ffile-prefix-map={_HERE}={_HERE.name}"]
    ffi = [path for path in ffi_sources() if path.stem in _FFI]
    runtime = {path.name: path for path in runtime_sources() if path.name not in _WITHOUT}
    module, allocator = runtime.pop(_MODULE), runtime.pop(_ALLOCATOR)
    with TemporaryDirectory(prefix="kokoro-tvm-") as folder:
        units: dict[Path, list[str]] = {
            _HERE / "wasm.cc": [],
            _HERE / "blocks.cc": [],
            _HERE / "webgpu.cc": [],
            _write_unit(ffi, Path(folder, "ffi.cc")): [],
            module: [],
            allocator: [*_rename_options(_LOCKED), *_rename_options(_BLOCKS)],
            _write_unit([*runtime.values()], Path(folder, "tvm.cc")): _rename_options(_LOCKED),
        }
        # Exceptions first: the linker takes nothing from the C++ library that is defined already.
        commands = _exception_units(zig)
        commands += [
            ([*flags, *more, "-fwasm-exceptions", "-c", str(unit)], unit.name) for unit, more in units.items()
        ]
        objects = [str(Path(folder, f"{number}.o")) for number in range(len(commands))]

        def compile_one(number: int) -> None:
            """Compile a source to its object."""
            arguments, name = commands[number]
            zig.run([*arguments, "-o", objects[number]], name)

        with ThreadPoolExecutor(processes) as pool:
            list(pool.map(compile_one, range(len(objects))))
        zig.run([*_TARGET, *_link_options(), *objects, "-o", str(out / WASM)], WASM)


def _rename_options(names: Mapping[str, str]) -> list[str]:
    """Return options that replace names by ours: -DNAME=OURS."""
    return [f"-D{name}={ours}" for name, ours in names.items()]


def _write_unit(sources: Sequence[Path], path: Path) -> Path:
    """Write one source that includes several, because they share most of their headers."""
    path.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
    return path


def _exception_units(zig: Zig) -> list[tuple[list[str], str]]:
    """Return the compilations of exception handling, which zig's C++ library for WASI lacks."""
    lib = zig.folder / "lib"
    abi, unwind = lib / "libcxxabi", lib / "libunwind"
    flags = [*_TARGET, "-O2", "-g0", "-fwasm-exceptions", "-fdeclspec", "-fvisibility=hidden"]
    flags += ["-D_LIBCXXABI_BUILDING_LIBRARY", "-D_LIBCPP_BUILDING_LIBRARY", "-D_LIBCXXABI_HAS_NO_THREADS"]
    places = (abi / "include", lib / "libcxx" / "src", abi / "src", unwind / "include")
    flags += [f"-I{place}" for place in places]
    files = [abi / "src" / "cxa_exception.cpp", abi / "src" / "cxa_personality.cpp"]
    units = [([*flags, "-std=c++23", "-c", str(file)], file.name) for file in files]
    return [*units, ([*flags, "-x", "c", "-c", str(unwind / "src" / "Unwind-wasm.c")], "Unwind-wasm.c")]


def _link_options() -> Sequence[str]:
    """Return the options of zig for the WebAssembly module: exports, memory and stack."""
    options = [*(f"--export={name}" for name in _EXPORTS), "--export-table", "--growable-table"]
    options += ["--import-memory", f"--initial-memory={_INITIAL}", f"--max-memory={MOST_MEMORY}"]
    options += ["-z", f"stack-size={_STACK}"]
    return ["-mexec-model=reactor", "-O2", "-s", *(f"-Wl,{option}" for option in options)]
