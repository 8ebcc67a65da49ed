"""Read emoji by their names, as screen readers do."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from kokoro_tvm.runtime.text.frontend.pictures import EMOJI
from kokoro_tvm.runtime.text.frontend.source import Edit, edit_matches

_CHANGES = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"  # modifiers: skin, colour, region
_ONE = f"{EMOJI}{_CHANGES}*"
_EMOJI = re.compile(
    f"(?P<flag>[\U0001f1e6-\U0001f1ff]{{2}})"
    f"|(?P<keycap>[0-9#*]\ufe0f?\u20e3)"
    f"|(?P<joined>{_ONE}(?:\u200d(?:{_ONE}|[\u2640\u2642\u2695\u2696]\ufe0f?)){{0,9}})"
    f"|(?P<change>{_CHANGES}|\u200d)"
)
_MODIFIER = re.compile(_CHANGES)
# Common names, if Unicode's is not.
_NAMES = {
    "❤": "red heart", "♥": "heart", "☺": "smiling face", "☹": "frowning face", "👍": "thumbs up",
    "👎": "thumbs down", "😂": "face with tears of joy", "🙏": "folded hands", "💯": "hundred points",
    "✨": "sparkles", "🔥": "fire", "💩": "pile of poo", "✔": "check mark", "✅": "check mark",
    "❌": "cross mark", "⭐": "star", "☀": "sun", "🤣": "rolling on the floor laughing",
    "♀": "woman", "♂": "man", "🙂": "slightly smiling face", "😊": "smiling face with smiling eyes",
    "♭": "flat", "♮": "natural", "♯": "sharp",
}  # fmt: skip
_SILENT = re.compile(r"^(?:heavy |white |black |emoji )+| (?:sign|symbol)$|-\d+$")


def name_emoji(text: str) -> Iterator[Edit]:
    """Yield edits from emoji to names: joined ones by their parts, a row of one emoji once, no skin tones."""
    last: tuple[int, str] = (-1, "")
    for edit in edit_matches(_EMOJI, text, _name):
        start, name = last
        is_repeated = edit.start == start and edit.text == name and bool(name)
        last = (edit.end, edit.text or name) if edit.start == start or edit.text else last
        if is_repeated or not edit.text:
            yield Edit(edit.start, edit.end, "")
        else:
            yield Edit(edit.start, edit.end, _spaced(text, edit))


def _spaced(text: str, edit: Edit) -> str:
    before, after = text[edit.start - 1 : edit.start], text[edit.end : edit.end + 1]
    lead = " " if edit.start and not before.isspace() else ""
    return lead + edit.text + (" " if after and (after.isalnum() or not after.isascii()) else "")


def _name(match: re.Match[str]) -> str | None:
    if match["flag"]:
        return "flag " + " ".join(chr(ord(char) - 0x1F1E6 + ord("A")) for char in match["flag"])
    if match["keycap"]:
        return {"#": "hash", "*": "star"}.get(match[0][0], match[0][0])
    if match["change"]:
        return ""
    pictures = _MODIFIER.sub("", match["joined"]).split("\u200d")
    names = list(dict.fromkeys(filter(None, map(describe_emoji, pictures))))
    return " ".join(names) if names else None


def describe_emoji(picture: str) -> str:
    """Return the name of one emoji; "" if this Python's Unicode does not know it."""
    name = _NAMES.get(picture) or unicodedata.name(picture, "").lower()
    return _SILENT.sub("", name).replace("-", " ")
