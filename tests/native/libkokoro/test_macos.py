"""libkokoro for macOS under QEMU, with the loader of Mach-O files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from calls import Spoken, durations, timeline
from elsewhere import obstacle, runner_of
from toy_bundle import compile_into, edit_manifest, file_entry, refresh, write_bundle

from kokoro_tvm import Synthesizer
from kokoro_tvm.native.libkokoro import HEADER, MACOS, compile_libkokoro, names_of, sources
from kokoro_tvm.native.toolchains.code_signature import check_signature
from kokoro_tvm.native.toolchains.zig import MACOS as COMPILER
from kokoro_tvm.runtime import write_wav
from kokoro_tvm.runtime.bundle.voices import style_of
from kokoro_tvm.runtime.text.phonemes import encode
from kokoro_tvm.targets.runners import Start, open_synthesizer, served
from kokoro_tvm.targets.runners.program import SpeakProgram

RECIPE = "macos-arm64"
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
HERE = Path(__file__).parent
RUNNERS = Path(served.__file__).parent
INCLUDE = next(path.parent for path in sources() if path.name == HEADER)
PHONEMES, SEED = "abc, d — ab!", 1 << 63 | 5
Runtime = Callable[[str], list[Path]]

_OBSTACLE = COMPILER.check() or obstacle(RECIPE)
pytestmark = [
    pytest.mark.slow("runs code for macOS in QEMU"),
    pytest.mark.skipif(_OBSTACLE is not None, reason=str(_OBSTACLE)),
]


@pytest.fixture(scope="session")
def macos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of libkokoro.dylib and speak."""
    folder = tmp_path_factory.mktemp("macos")
    compile_libkokoro(COMPILER, folder, *STRICT)
    return folder


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the toy compiled for macOS."""
    folder = write_bundle(tmp_path_factory.mktemp("toy"))
    compile_into(folder, "exact", RECIPE)
    refresh(folder)
    return folder


@pytest.fixture(scope="session")
def python(toy: Path, runner_runtime: Runtime) -> Synthesizer:
    """Return Python's runtime with the toy's code for macOS."""
    return open_synthesizer(runner_of(RECIPE), toy, 1, runner_runtime(RECIPE))


@pytest.fixture(scope="session")
def start(macos: Path, runner_runtime: Runtime) -> Iterator[Start]:
    """Return how `speak` is started."""
    started = runner_of(RECIPE).start(macos / MACOS.program, runner_runtime(RECIPE))
    assert started is not None
    yield started
    started.afterwards()


@pytest.fixture
def speak(start: Start, tmp_path: Path) -> Callable[..., Spoken]:
    def spoken(bundle: Path, *words: str, program: Path | None = None) -> Spoken:
        output = tmp_path / "spoken.wav"
        command = [*start.command, str(bundle), *words]
        if program is not None:
            command[len(start.command) - 1] = str(program)
        environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert not list(tmp_path.glob("kokoro-*.dylib"))  # what was loaded has been removed
        wav = output.read_bytes() if output.exists() else b""
        return Spoken(done.returncode, done.stdout.splitlines(), done.stderr, wav)

    return spoken


def test_speak_matches_python(
    speak: Callable[..., Spoken], toy: Path, python: Synthesizer, tmp_path: Path
) -> None:
    speech = python.from_phonemes(PHONEMES, voice="bf_emma,am_adam", speed=0.7, seed=SEED)
    write_wav(tmp_path / "expected.wav", speech.audio, speech.sample_rate)
    bundle = shutil.copytree(toy, tmp_path / "bündel ☃")
    words = ("--phonemes", PHONEMES, "--voice", "bf_emma,am_adam", "--speed", "0.7", "--seed", str(SEED))
    result = speak(bundle, *words, "--durations", "--words", "-o", str(tmp_path / "spoken.wav"))
    assert (result.status, result.errors) == (0, "")
    assert result.lines == [durations(speech), *timeline(speech)]
    assert result.wav == (tmp_path / "expected.wav").read_bytes()


def test_bundle_speaks_with_its_own_files(
    macos: Path, runner_runtime: Runtime, toy: Path, python: Synthesizer, tmp_path: Path
) -> None:
    """The gate of whole utterances runs the program the same way."""
    bundle = Path(shutil.copytree(toy, tmp_path / "bundle"))
    files = [macos / MACOS.library, macos / MACOS.program, INCLUDE / HEADER]
    for path in files:
        Path(shutil.copyfile(path, bundle / path.name)).chmod(0o444)
    entries = [file_entry(bundle / path.name) for path in files]
    edit_manifest(bundle, lambda manifest: manifest.update(libkokoro=entries))
    style = style_of(python.voices.table("bf_emma"), PHONEMES)
    expected = python.run(encode(PHONEMES, python.bundle.vocabulary), style, speed=0.7, seed=11)

    def start(program: Path) -> Start:
        started = runner_of(RECIPE).start(program, runner_runtime(RECIPE))
        assert started is not None
        return started

    program = SpeakProgram(bundle, [bundle / path.name for path in files], start, threads=2)
    result = program.speak(PHONEMES, "bf_emma", 0.7, 11)
    assert result.audio.tobytes() == expected.audio.tobytes()
    assert result.durations.tolist() == expected.durations.tolist()


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("--phonemes", "☃ ζ"), 2, "the model knows none of the phonemes ('☃' (U+2603)"),
        (("--phonemes", "ab" * 40), 2, "The utterance needs 82 tokens, but the largest bucket"),
        (("--phonemes", "a", "--sha256", "0" * 64), 5, "bundle.json has sha256 "),
        (("--phonemes", "a", "--loud"), 2, "unknown argument --loud"),
    ],
)
def test_speak_refuses_a_bad_request(
    speak: Callable[..., Spoken], toy: Path, words: tuple[str, ...], status: int, text: str
) -> None:
    result = speak(toy, *words)
    assert result.status == status, result.errors
    assert text in result.errors


def test_speak_refuses_a_damaged_bundle(speak: Callable[..., Spoken], toy: Path, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(toy, tmp_path / "bundle"))
    assert "none: the folder does not exist." in speak(bundle / "none", "--phonemes", "a").errors
    content = bytearray((bundle / "bert-16.so").read_bytes())
    content[-1] ^= 1
    (bundle / "bert-16.so").write_bytes(content)
    result = speak(bundle, "--phonemes", "a")
    assert (result.status, "bert-16.so has sha256 " in result.errors) == (5, True), result.errors
    (bundle / "bert-16.so").write_bytes(b"\x7fELF" * (len(content) // 4) + content[len(content) // 4 * 4 :])
    refresh(bundle)
    result = speak(bundle, "--phonemes", "a")
    assert (result.status, "bert-16.so is not a library that kokoro-tvm compiled" in result.errors) == (
        5,
        True,
    )


def test_check_cpu_names_features_of_a_newer_mac(
    speak: Callable[..., Spoken], toy: Path, tmp_path: Path
) -> None:
    bundle = Path(shutil.copytree(toy, tmp_path / "bundle"))
    needed = ["neon", "lse", "i8mm", "bf16"]
    edit_manifest(bundle, lambda manifest: manifest.update(cpu_features=needed))
    result = speak(bundle, "--phonemes", "a")
    assert result.status == 5
    assert "was built for a processor with i8mm, bf16, which this one lacks." in result.errors


def test_speak_names_a_missing_library(
    speak: Callable[..., Spoken], macos: Path, toy: Path, tmp_path: Path
) -> None:
    alone = Path(shutil.copyfile(macos / MACOS.program, tmp_path / "alone"))
    result = speak(toy, "--phonemes", "a", program=alone)
    assert result.status == 127
    assert f"alone cannot be loaded: {tmp_path}/libkokoro.dylib cannot be opened" in result.errors


def test_bundle_is_shared_by_threads(
    speak: Callable[..., Spoken], macos: Path, toy: Path, tmp_path: Path
) -> None:
    library = Path(shutil.copyfile(macos / MACOS.library, tmp_path / MACOS.library))
    options = [f"-I{INCLUDE}", str(library), "-Wl,-rpath,@loader_path", *STRICT]
    COMPILER.compile([HERE / "programs" / "threads.c"], tmp_path / "threads", *options)
    result = speak(toy, "4", program=tmp_path / "threads")
    assert (result.status, result.lines) == (0, ["equal"]), result.errors


def test_libkokoro_is_compiled_reproducibly(macos: Path, tmp_path: Path) -> None:
    """It is signed, for macOS 11, and imports only the C library."""
    assert names_of(COMPILER) == MACOS
    compile_libkokoro(COMPILER, tmp_path)
    for name in (MACOS.library, MACOS.program):
        content = (tmp_path / name).read_bytes()
        assert content == (macos / name).read_bytes()
        check_signature(content)
        assert set(re.findall(rb"[/@][\w/.@]+\.dylib", content)) <= {
            b"/usr/lib/libSystem.B.dylib",
            b"@rpath/libkokoro.dylib",
            b"/libtvm_ffi.dylib",
        }, name


# What has the same arguments and results in both C libraries, so that Linux' is what is called.
ALIKE = """
__memcpy_chk __strcat_chk __strcpy_chk bsearch bzero calloc close cos dlerror dlsym fclose fopen
fputc fputs fread free fseek ftell fwrite getenv getpid log malloc memchr memcmp memcpy memmove
memset mkdir mmap munmap pread pthread_cond_broadcast pthread_cond_destroy pthread_cond_init
pthread_create pthread_join putchar puts qsort realloc realpath remove rename setenv strcat strchr
strcmp strcpy strcspn strdup strerror strlen strncmp strpbrk strrchr strspn strstr strtod strtol strtoll
strtoull time unlink write
"""


def test_imports_from_the_c_library_are_emulated(macos: Path) -> None:
    """A new import needs a check of its arguments, structures and variadic calls."""
    nm = next((name for name in ("llvm-nm", "llvm-nm-19", "llvm-nm-14") if shutil.which(name)), None)
    if nm is None:
        pytest.skip("no llvm-nm (Debian: apt-get install llvm)")
    target = set(re.findall(r"\bdarwin_(\w+)", (RUNNERS / "macho" / "darwin.c").read_text(encoding="utf-8")))
    for name in (MACOS.library, MACOS.program):
        printed = subprocess.run([nm, "-u", str(macos / name)], capture_output=True, text=True, check=True)
        used = {word.partition("$")[0].removeprefix("_") for word in printed.stdout.split()}
        own = {item for item in used if item.startswith("kokoro_")} if name == MACOS.program else set()
        assert used - own - {"dyld_stub_binder"} - target <= set(ALIKE.split()), name


def test_structures_match_macos_headers(tmp_path: Path) -> None:
    COMPILER.run(["-c", str(HERE / "programs" / "darwin_layouts.c"), "-o", str(tmp_path / "made.o")], "it")
