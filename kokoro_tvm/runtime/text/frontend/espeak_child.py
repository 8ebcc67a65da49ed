"""Program of the process that runs espeak-ng.

It is not imported: `espeak_process` gives its source to a new interpreter, because a fault of the native
library ends the process. The first line of standard input is the parent's module path, as JSON. Every other
line is a request, {"language", "options", "text"}, which is answered with a line: {"phonemes"},
{"missing": module} or {"error"}. The process ends with its input, and so with its parent.
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and decides
    answers = os.fdopen(os.dup(1), "w", encoding="ascii", newline="\n")
    os.dup2(2, 1)  # libraries print to standard error
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
    os._exit(0)  # skip phonemizer's finalizers, whose files are removed already


def open_backend(language: str, options: dict[str, str]) -> object:
    """Return phonemizer's backend over the installed espeak-ng."""
    # phonemizer imports these for other uses, and numpy with them.
    sys.modules.setdefault("joblib", types.ModuleType("joblib"))
    segments = sys.modules.setdefault("segments", types.ModuleType("segments"))
    segments.Profile = object  # type: ignore[attr-defined]
    import espeakng_loader
    from phonemizer.backend import EspeakBackend
    from phonemizer.backend.espeak.wrapper import EspeakWrapper

    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
    # Errors only: phonemizer's own logger prints a line if espeak-ng joins two words.
    logger = logging.getLogger("espeak")
    logger.setLevel(logging.ERROR)
    # A process that dies would leave phonemizer's copy of the library behind.
    tempfile.tempdir = folder = tempfile.mkdtemp()
    backend = EspeakBackend(
        language, preserve_punctuation=True, with_stress=True, tie="^", logger=logger, **options
    )
    tempfile.tempdir = None
    if os.name != "nt":  # Windows keeps loaded files
        shutil.rmtree(folder)
    return backend


if __name__ == "__main__":
    main()
