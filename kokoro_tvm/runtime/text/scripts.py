"""Scripts of characters, to name them in messages and to filter the input of espeak-ng."""

from __future__ import annotations

from bisect import bisect_right

# First and last code points of the blocks of common scripts (Unicode 15, Blocks.txt). libkokoro has this
# table too (native/libkokoro/generated.py), and so have pages (web/scripts.js).
RANGES = (
    (0x0041, 0x024F, "Latin"),
    (0x0370, 0x03FF, "Greek"),
    (0x0400, 0x052F, "Cyrillic"),
    (0x0530, 0x058F, "Armenian"),
    (0x0590, 0x05FF, "Hebrew"),
    (0x0600, 0x06FF, "Arabic"),
    (0x0750, 0x077F, "Arabic"),
    (0x08A0, 0x08FF, "Arabic"),
    (0x0900, 0x097F, "Devanagari"),
    (0x0980, 0x09FF, "Bengali"),
    (0x0A00, 0x0A7F, "Gurmukhi"),
    (0x0A80, 0x0AFF, "Gujarati"),
    (0x0B00, 0x0B7F, "Odia"),
    (0x0B80, 0x0BFF, "Tamil"),
    (0x0C00, 0x0C7F, "Telugu"),
    (0x0C80, 0x0CFF, "Kannada"),
    (0x0D00, 0x0D7F, "Malayalam"),
    (0x0D80, 0x0DFF, "Sinhala"),
    (0x0E00, 0x0E7F, "Thai"),
    (0x0E80, 0x0EFF, "Lao"),
    (0x0F00, 0x0FFF, "Tibetan"),
    (0x1000, 0x109F, "Burmese"),
    (0x10A0, 0x10FF, "Georgian"),
    (0x1100, 0x11FF, "Korean"),
    (0x1200, 0x139F, "Ethiopic"),
    (0x13A0, 0x13FF, "Cherokee"),
    (0x1780, 0x17FF, "Khmer"),
    (0x1800, 0x18AF, "Mongolian"),
    (0x1E00, 0x1EFF, "Latin"),
    (0x1F00, 0x1FFF, "Greek"),
    (0x3040, 0x30FF, "Japanese"),
    (0x3130, 0x318F, "Korean"),
    (0x31F0, 0x31FF, "Japanese"),
    (0x3400, 0x4DBF, "Chinese"),
    (0x4E00, 0x9FFF, "Chinese"),
    (0xAC00, 0xD7AF, "Korean"),
    (0xF900, 0xFAFF, "Chinese"),
    (0xFB50, 0xFDFF, "Arabic"),
    (0xFE70, 0xFEFF, "Arabic"),
    (0xFF66, 0xFF9F, "Japanese"),
    (0x20000, 0x323AF, "Chinese"),
)
_FIRSTS = [first for first, _, _ in RANGES]


def find_script(char: str) -> str:
    """Return the script of a letter or digit; "" for other characters and rare scripts."""
    if not char.isalnum():
        return ""
    row = bisect_right(_FIRSTS, ord(char)) - 1
    return RANGES[row][2] if row >= 0 and ord(char) <= RANGES[row][1] else ""


def describe_scripts(text: str) -> str:
    """Return the scripts of a text for a message: " (Japanese, Chinese script)"; "" if it has none."""
    scripts = [script for script in dict.fromkeys(map(find_script, text)) if script]
    return f" ({', '.join(scripts)} script)" if scripts else ""
