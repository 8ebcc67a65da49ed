"""The provenance of a bundle that leaves: its own statement, with the gates that judged it as a whole.

They come after the bundle, so that what the build puts into it cannot have them. Their reports are found by
the digest of the bundle that they are about, in the store beside it.
"""

from __future__ import annotations

import json
from typing import Any

from kokoro_tvm.engine.store import Store
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.bundle.provenance import FILE as PROVENANCE
from kokoro_tvm.stages.provenance import gate_values, resource

__all__ = ["NOT_RUN", "provenance_with_gates"]

NOT_RUN = "urn:kokoro-tvm:gate:not-run"
_SPEECH = "speech.json"
_LATER = {_SPEECH: "speech", "intelligibility.json": "intelligibility"}
"""Reports of stages that read a bundle; the second is of recipes with a gate for it."""


def provenance_with_gates(bundle: Bundle) -> bytes:
    """The content of a bundle's provenance.json, with the reports of what judged all of it as byproducts.

    Whole utterances that nobody has judged are named as well, with NOT_RUN in the place of a digest. A
    statement that has them, of a bundle that was pulled, stays as it is.
    """
    text = (bundle.root / PROVENANCE).read_bytes()
    statement: dict[str, Any] = json.loads(text)
    byproducts = statement["predicate"]["runDetails"].setdefault("byproducts", [])
    if any(byproduct.get("name") == _SPEECH for byproduct in byproducts):
        return text
    store = Store(bundle.root.resolve().parent / ".store")
    for name, stage in _LATER.items():
        found = _report(store, bundle, stage, name)
        if found is not None:
            byproducts.append(found)
        elif name == _SPEECH:
            why = bundle.not_run or "there is no report of it beside the bundle"
            values = {"passed": False, "gates": {}, "not_run": why}
            byproducts.append({"name": name, "uri": NOT_RUN, "annotations": values})
    return json.dumps(statement, indent=1, ensure_ascii=False).encode()


def _report(store: Store, bundle: Bundle, stage: str, name: str) -> dict[str, Any] | None:
    """What a stage says of exactly this bundle, as a resource; None where it was not run."""
    record = store.current(f"{bundle.recipe}.{stage}")
    if record is None or record.derivation.get("inputs", {}).get("bundle/bundle.json") != bundle.sha256:
        return None
    output = record.output(name)
    content = store.read(output, store.object(output.sha256))
    return None if content is None else resource(name, output.sha256, gate_values(json.loads(content)))
