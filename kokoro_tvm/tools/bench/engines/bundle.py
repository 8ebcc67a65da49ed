"""A bundle: numpy and the TVM runtime, neither torch nor the compiler."""

from __future__ import annotations

from collections.abc import Sequence

from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineOutput, EngineSpec

__all__ = ["BundleEngine"]


class BundleEngine:
    """Speaks with a Synthesizer, which times its components."""

    def __init__(self, spec: EngineSpec) -> None:
        from kokoro_tvm.runtime import Synthesizer

        self._synthesizer = Synthesizer(spec.path, threads=spec.threads)
        self.details = self._synthesizer.bundle.precision

    def speak(self, utterances: Sequence[BenchUtterance]) -> EngineOutput:
        spoken = [self._synthesizer.run(u.tokens, u.style) for u in utterances]
        bundle = self._synthesizer.bundle
        names = bundle.components if bundle.gpu is None else ()  # on a GPU they wait for one another
        components = {name: sum(speech.timings[name] for speech in spoken) for name in names}
        return EngineOutput([speech.audio for speech in spoken], components)
