"""The process that espeak-ng runs in: the source of a program, which `espeak` hands to a new interpreter.

It is not imported: faults of the native library end this process alone. The first line of standard input is
the module path of the parent, as JSON. Every further line is a request, {"language", "options", "text"},
which is answered by a line: {"phonemes"}, {"missing": module} or {"error"}. The end of the input, which the
end of the parent is too, ends the process.
"""

import json
import logging
import os
import shutil
import signal
import sys
import tempfile
import types


def main() -> None:
    """Answer requests until the end of standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the parent too, which decides
    answers = os.fdopen(os.dup(1), "w", encoding="ascii", newline="\n")
    os.dup2(2, 1)  # what libraries print is no answer
    sys.path[:] = json.loads(sys.stdin.readline())
    backends: dict[str, object] = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = json.dumps([request["language"], request["options"]])
        try:
            if key not in backends:
                backends[key] = open_backend(request["language"], request["options"])
            phonemes = backends[key].phonemize([request["text"]])  # type: ignore[attr-defined]
            answer = {"phonemes": phonemes[0].strip() if phonemes else ""}
        except ImportError as error:
            answer = {"missing": error.name or "", "error": str(error)}
        except Exception as error:  # the parent raises it
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    os._exit(0)  # without phonemizer's finalizers, which remove files that are removed already


def open_backend(language: str, options: dict[str, str]) -> object:
    """Return phonemizer's backend over the installed espeak-ng."""
    # phonemizer imports these, and numpy with them, for several processes and another backend.
    sys.modules.setdefault("joblib", types.ModuleType("joblib"))
    segments = sys.modules.setdefault("segments", types.ModuleType("segments"))
    segments.Profile = object  # type: ignore[attr-defined]
    import espeakng_loader
    from phonemizer.backend import EspeakBackend
    from phonemizer.backend.espeak.wrapper import EspeakWrapper

    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
    # For errors alone: phonemizer's own logger prints where espeak-ng writes two words as one.
    logger = logging.getLogger("espeak")
    logger.setLevel(logging.ERROR)
    # phonemizer loads a copy of the library, which would be left behind by a process that dies.
    tempfile.tempdir = folder = tempfile.mkdtemp()
    backend = EspeakBackend(
        language, preserve_punctuation=True, with_stress=True, tie="^", logger=logger, **options
    )
    tempfile.tempdir = None
    if os.name != "nt":  # Windows keeps files that are loaded
        shutil.rmtree(folder)
    return backend


if __name__ == "__main__":
    main()
