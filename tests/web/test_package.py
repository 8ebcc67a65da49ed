"""The npm package in an empty project."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import chromium
from elsewhere import obstacle
from hosting import QuietHandler, listening

from kokoro_tvm import Synthesizer
from kokoro_tvm.runtime import Division, SpeechWarning
from kokoro_tvm.runtime.documents.captions import write_captions
from kokoro_tvm.runtime.speech.stream import Speech
from kokoro_tvm.targets.runners import open_synthesizer
from kokoro_tvm.targets.runners.node import NODE
from kokoro_tvm.web import WEB

NPM = shutil.which("npm")
ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow("runs the bundle for WebAssembly"),
    pytest.mark.skipif(NPM is None, reason="no npm here: it packs what is tested"),
    pytest.mark.skipif(obstacle("wasm") is not None, reason=str(obstacle("wasm"))),
]
TEXT = "He ran home. Dr. Smith had 3 dogs!"
IMPORTED = re.compile(
    r"""(?:^|\s)(?:import|export)\s[^;"']*?["'](\.{1,2}/[^"']+)["']|(?:URL|import)\(["'](\.{1,2}/[^"']+)["']"""
)


def npm(*words: str, cwd: Path) -> str:
    assert NPM is not None
    done = subprocess.run([NPM, *words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def source(folder: Path) -> Path:
    """Return a copy of the package's folder that tests may change."""
    copied = folder / "kokoro_tvm" / "web"
    shutil.copytree(WEB, copied, ignore=shutil.ignore_patterns("node_modules", "types", "LICENSE"))
    shutil.copy(ROOT / "LICENSE", folder)
    return copied


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of `npm pack`, without types, whose compiler is in the registry."""
    folder = tmp_path_factory.mktemp("packed")
    npm("pack", "--ignore-scripts", f"--pack-destination={folder}", cwd=source(folder))
    (packed,) = folder.glob("*.tgz")
    return packed


@pytest.fixture(scope="module")
def project(package: Path, bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the installed package and the bundle in `voice`."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
    npm("install", "--offline", "--no-audit", "--no-fund", str(package), cwd=folder)
    (folder / "voice").symlink_to(bundle)
    return folder


@pytest.fixture
def run(project: Path) -> Callable[[str], Any]:
    """Return a function that runs a program in the project and parses its JSON output."""

    def of(program: str) -> Any:
        file = project / "program.js"
        file.write_text(program, encoding="utf-8")
        done = subprocess.run(["node", str(file)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return of


@pytest.fixture(scope="module")
def tts(bundle: Path, runner_runtime: Callable[[str], list[Path]]) -> Synthesizer:
    """Return the same bundle with its components in Node, and Python for everything else."""
    return open_synthesizer(NODE, bundle, 1, runner_runtime("wasm"))


@pytest.fixture(scope="module")
def expected(tts: Synthesizer) -> Speech:
    with pytest.warns(SpeechWarning):
        return tts(TEXT, voice="af_heart", division=Division())


def test_package_contains_the_imported_modules(package: Path) -> None:
    with tarfile.open(package) as archive:
        held = {member.name.removeprefix("package/") for member in archive.getmembers()}
    needed, waiting = set(), ["index.js", "node.mjs"]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            found = IMPORTED.findall((WEB / name).read_text(encoding="utf-8"))
            places = [(WEB / name).parent / (first or second) for first, second in found]
            waiting += [place.resolve().relative_to(WEB.resolve()).as_posix() for place in places]
    assert held == needed | {"package.json", "README.md"}


SPEAK = """
import { Synthesizer } from "kokoro-tvm";
const tts = await Synthesizer.open(FOLDER);
const speech = await tts.speak(TEXT, { voice: "af_heart" });
const plan = await tts.plan(TEXT, { voice: "af_heart" });
const again = await tts.render(plan);
const chunks = [];
for await (const chunk of tts.stream(TEXT, { voice: "af_heart" })) chunks.push(chunk);
tts.close();
console.log(JSON.stringify({
  audio: [...speech.audio], rendered: [...again.audio], streamed: chunks.flatMap(({ audio }) => [...audio]),
  words: speech.words, wordsOfStream: chunks.flatMap(({ words }) => words), seconds: plan.seconds,
  wav: Buffer.from(speech.wav()).toString("base64").slice(0, 5),
  captions: ["srt", "vtt", "json"].map((format) => speech.captions(format)),
}));
"""


def speak(folder: str) -> str:
    return SPEAK.replace("FOLDER", json.dumps(folder)).replace("TEXT", json.dumps(TEXT))


def assert_says(found: Any, expected: Speech) -> None:
    for way in ("audio", "rendered", "streamed"):
        assert np.array_equal(np.array(found[way], np.float32), expected.audio), way
    assert found["wordsOfStream"] == found["words"]
    assert [word["word"] for word in found["words"]] == [word.text for word in expected.words]
    assert [word["start"] for word in found["words"]] == [word.start for word in expected.words]
    assert found["seconds"] == expected.audio.size / 24000
    assert found["wav"] == "UklGR"  # RIFF
    srt, vtt, words = found["captions"]
    seconds = expected.audio.size / 24000
    assert srt == write_captions("a.srt", expected.timeline, seconds)
    assert vtt == write_captions("a.vtt", expected.timeline, seconds)
    assert json.loads(words) == json.loads(write_captions("a.json", expected.timeline, seconds))


def test_node_speaks_as_python(bundle: Path, run: Callable[[str], Any], expected: Speech) -> None:
    """Sample for sample, from a folder."""
    assert_says(run(speak(str(bundle))), expected)


def test_node_reads_a_bundle_from_a_web_server(
    bundle: Path, run: Callable[[str], Any], expected: Speech
) -> None:
    with listening(partial(QuietHandler, directory=str(bundle.parent))) as address:
        assert_says(run(speak(f"{address}/{bundle.name}")), expected)


def test_page_imports_the_package(project: Path, expected: Speech) -> None:
    """Without a bundler; the worker lies beside the module."""
    (project / "page.html").write_text("<!doctype html><title>Mine</title>", encoding="utf-8")
    with listening(partial(QuietHandler, directory=str(project))) as address, chromium() as browser:
        tab = browser.new_page()
        tab.goto(f"{address}/page.html")
        audio = tab.evaluate(
            """async (text) => {
              const { Synthesizer } = await import("./node_modules/kokoro-tvm/index.js");
              const tts = await Synthesizer.open("voice");
              const { audio } = await tts.speak(text, { voice: "af_heart" });
              tts.close();
              return [...audio];
            }""",
            TEXT,
        )
    assert np.array_equal(np.array(audio, np.float32), expected.audio)


def test_plan_is_pythons_and_only_streams_cut_it(
    bundle: Path, run: Callable[[str], Any], tts: Synthesizer
) -> None:
    text = "He ran all the way home to the big bad dog of the old man."
    found = run(
        f"""
        import {{ Synthesizer }} from "kokoro-tvm";
        const tts = await Synthesizer.open({json.dumps(str(bundle))});
        const [text, options] = [{json.dumps(text)}, {{ voice: "af_heart" }}];
        const plan = await tts.plan(text, options);
        const speech = await tts.speak(text, options);
        let chunks = 0;
        for await (const {{ audio }} of tts.stream(text, options)) chunks += audio.length > 0;
        tts.close();
        console.log(JSON.stringify({{ plan: plan.toNode(), speech: speech.plan.toNode(), chunks }}));
        """
    )
    with pytest.warns(SpeechWarning):
        plan = tts.plan(text, voice="af_heart")
    assert found["plan"] == found["speech"] == json.loads(plan.to_json())
    assert found["chunks"] == len(plan.pieces) + 1


def test_plan_can_be_stored_and_edited(bundle: Path, run: Callable[[str], Any]) -> None:
    found = run(
        f"""
        import {{ Plan, Synthesizer }} from "kokoro-tvm";
        const tts = await Synthesizer.open({json.dumps(str(bundle))});
        const plan = await tts.planPhonemes("həlˈO wˈɜɹld.", {{ voice: "af_heart" }});
        const kept = Plan.fromNode(JSON.parse(JSON.stringify(plan.toNode())));
        const [first] = plan.pieces;
        const [hello, ...rest] = first.words;
        const words = [hello.with({{ phonemes: "həlˈA", durations: null }}), ...rest];
        const edited = plan.with({{ pieces: [first.with({{ words, pause: 2400 }})] }});
        const speeches = await Promise.all([plan, kept, edited].map((each) => tts.render(each)));
        const wrong = [
          plan.with({{ sampleRate: 48000 }}),
          plan.with({{ pieces: [] }}),
          plan.with({{ pieces: [first.with({{ style: 9999 }})] }}),
          plan.with({{ pieces: [first.with({{ lead: 5000 }})] }}),
        ];
        const errors = await Promise.all(wrong.map((each) => tts.render(each).catch((error) => error)));
        tts.close();
        console.log(JSON.stringify({{
          same: Buffer.from(speeches[0].audio.buffer).equals(Buffer.from(speeches[1].audio.buffer)),
          kept: speeches[2].plan.pieces[0].words.slice(1).map(({{ durations }}) => durations),
          known: plan.pieces[0].words.slice(1).map(({{ durations }}) => durations),
          silence: speeches[2].audio.slice(-2400).every((sample) => sample === 0),
          samples: [edited.with({{ pieces: speeches[2].plan.pieces }}).samples, speeches[2].audio.length],
          errors: errors.map(({{ kind, message }}) => [kind, message]),
        }}));
        """
    )
    assert found["same"]
    assert found["kept"] == found["known"]
    assert found["silence"]
    assert found["samples"][0] == found["samples"][1]
    kinds, messages = zip(*found["errors"], strict=True)
    assert set(kinds) == {"refused"}
    for message, part in zip(
        messages, ("48000 Hz", "no pieces", "style 9999", "largest bucket"), strict=True
    ):
        assert part in message


def test_cancelled_speech_ends_and_the_next_one_speaks(bundle: Path, run: Callable[[str], Any]) -> None:
    found = run(
        f"""
        import {{ Synthesizer }} from "kokoro-tvm";
        const tts = await Synthesizer.open({json.dumps(str(bundle))});
        const abort = new AbortController();
        const chunks = [];
        let error = null;
        try {{
          for await (const chunk of tts.stream("He ran home. ".repeat(50), {{ signal: abort.signal }})) {{
            chunks.push(chunk.audio.length);
            if (chunk.audio.length) abort.abort(new Error("enough"));
          }}
        }} catch (caught) {{
          error = caught.message;
        }}
        const early = await tts.speak("No.", {{ signal: AbortSignal.abort() }}).catch(({{ name }}) => name);
        const after = await tts.speak("Yes.");
        const unknown = await tts.speak("Yes.", {{ voice: "nobody" }}).catch(({{ kind }}) => kind);
        const waiting = tts.speak("He ran home. ".repeat(50)).catch(({{ kind }}) => kind);
        tts.close();
        const closed = await tts.speak("Yes.").catch(({{ message }}) => message);
        const missing = await Synthesizer.open("/no/such/folder").catch(({{ kind }}) => kind);
        console.log(JSON.stringify({{
          chunks: chunks.length, error, early, after: after.seconds > 0, unknown, waiting: await waiting,
          closed, missing,
        }}));
        """
    )
    assert found == {
        "chunks": 2,
        "error": "enough",
        "early": "AbortError",
        "after": True,
        "unknown": "refused",
        "waiting": "broken",
        "closed": "The synthesizer was closed. Open another one.",
        "missing": "unloadable",
    }


def documented(language: str) -> list[str]:
    """Return the examples of docs/javascript.md in a language."""
    page = (ROOT / "docs" / "javascript.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", page.partition("\n## ")[0], re.DOTALL)


HEARD = """
  window.heard = [];
  const { copyToChannel } = AudioBuffer.prototype;
  AudioBuffer.prototype.copyToChannel = function (samples, ...rest) {
    heard.push(...samples);
    return copyToChannel.call(this, samples, ...rest);
  };
"""
DOCUMENTED = "He ran home. She sat down."


def test_documented_page_speaks(project: Path, tts: Synthesizer) -> None:
    (html,) = documented("html")
    (project / "index.html").write_text(html, encoding="utf-8")
    with pytest.warns(SpeechWarning):
        expected = tts(DOCUMENTED, voice="af_heart", division=Division()).audio
    with listening(partial(QuietHandler, directory=str(project))) as address, chromium() as browser:
        tab = browser.new_page()
        tab.add_init_script(HEARD)
        tab.set_default_timeout(120_000)
        tab.goto(address)
        tab.click("button:enabled")
        tab.wait_for_function("count => heard.length >= count", arg=expected.size)
        heard = np.array(tab.evaluate("heard"), np.float32)
    assert np.array_equal(heard, expected)


def test_documented_programs_run(project: Path, tts: Synthesizer) -> None:
    printed = []
    for place, program in enumerate(documented("js")):
        file = project / f"documented-{place}.js"
        file.write_text(program, encoding="utf-8")
        done = subprocess.run(["node", file], cwd=project, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.splitlines())
    with pytest.warns(SpeechWarning):
        expected = tts(DOCUMENTED, voice="af_heart", speed=1.1)
    words, plans = printed
    assert [line.split()[-1] for line in words] == [word.text for word in expected.words]
    assert len((project / "speech.wav").read_bytes()) == 44 + 2 * expected.audio.size
    seconds = expected.audio.size / 24000
    written = (project / "speech.vtt").read_text(encoding="utf-8")
    assert written == write_captions("speech.vtt", expected.timeline, seconds)
    with pytest.warns(SpeechWarning):
        plan = tts.plan(DOCUMENTED, voice="af_heart")
    seconds = [plan.seconds, plan.seconds + len(plan.pieces) / 2]
    assert [float(number) for number in plans[0].split()] == pytest.approx(seconds)


@pytest.mark.nightly
def test_types_are_checked(tmp_path: Path) -> None:
    """The sources match their JSDoc types, and a TypeScript program is checked against them."""
    folder = source(tmp_path)
    npm("install", "--no-audit", "--no-fund", cwd=folder)
    npm("run", "check", cwd=folder)
    npm("pack", f"--pack-destination={tmp_path}", cwd=folder)
    user = tmp_path / "user"
    user.mkdir()
    (user / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
    (packed,) = tmp_path.glob("*.tgz")
    npm("install", "--no-audit", "--no-fund", str(packed), "typescript@5.9.3", cwd=user)
    assert (user / "node_modules" / "kokoro-tvm" / "LICENSE").is_file()
    program = """
        import { Synthesizer, type Speech } from "kokoro-tvm";
        const tts = await Synthesizer.open("voice");
        const speech: Speech = await tts.speak("Hi.", { voice: "af_heart", speed: 1.1 });
        const starts: number[] = speech.words.map((word) => word.start);
        for await (const { audio } of tts.stream("Hi.")) audio.fill(starts[0]);
        const audio: Float32Array = (await tts.render(await tts.plan("Hi."))).audio;
        """
    (user / "right.ts").write_text(program, encoding="utf-8")
    (user / "wrong.ts").write_text(program.replace("speed: 1.1", 'speed: "fast"'), encoding="utf-8")
    check = ["npx", "tsc", "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"]
    done = {
        name: subprocess.run([*check, f"{name}.ts"], cwd=user, capture_output=True, text=True)
        for name in ("right", "wrong")
    }
    assert done["right"].returncode == 0, done["right"].stdout
    assert "Type 'string' is not assignable to type 'number'" in done["wrong"].stdout
