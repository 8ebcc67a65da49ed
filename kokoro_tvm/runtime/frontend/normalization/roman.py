"""Roman numerals, where what stands before them says that they are none else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kokoro_tvm.runtime.frontend.normalization.rules import any_of
from kokoro_tvm.runtime.frontend.numerals import ordinal
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["numerals"]

_COUNTED = """
Chapter Part Book Volume Vol. Act Scene Section Article Title Appendix Phase Type Class Level Episode
Figure Table War Bowl Canto Psalm Mark Apollo Rocky Fantasy Schedule Grade Lesson Unit Round Stage
Symphony Sonata Division
"""
_RULERS = """
Henry Louis George Edward Charles James William Richard Elizabeth Napoleon Paul Benedict Pius Leo Gregory
Innocent Clement Urban Alexander Nicholas Peter Catherine Frederick Friedrich Ferdinand Philip Felipe
Alfonso Francis Carlos Christian Gustav Ramesses Ramses Ptolemy Cleopatra Darius Xerxes Otto Wilhelm
Ludwig Leopold Emmanuel Umberto Harald Henri Constantine Justinian Theodosius Ivan Stephen Robert Sixtus
Boniface Celestine Eugene Mary Margrethe Haakon Edgar Harold John Joseph Thomas Albert Rainier Selim
Mehmed Suleiman Murad
"""
_ROMAN = (
    r"(?P<roman>(?=[IVXLCDM])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))"
    r"(?!\w|['’](?!s\b)\w|\.\w)"
)
_NUMERAL = re.compile(
    rf"(?<!\w)(?:(?P<counted>{any_of(_COUNTED.split())}|World War) {_ROMAN}"
    rf"|(?P<ruler>{any_of(_RULERS.split())})(?: [A-Z][a-z]{{1,20}})? {_ROMAN.replace('roman', 'ruling')}"
    rf"|{_ROMAN.replace('roman', 'century').removesuffix(')')})(?= (?:century|Century|centuries))"
    rf"|(?P<name>[A-Z][a-z]{{3,20}}) (?P<part>II|III|VII|VIII|IX|XI|XII|XIII|XIV|XV|XVI)(?!\w))"
)
_ONE = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_AFTER_ONE = re.compile(
    r"(?<!\s)\s*(?:[^\sa-zA-Z]|$| (?:of|and|is|was|to|in|had|ended|began|reigned|ruled|died)\b)"
)


def numerals(text: str) -> Iterator[Edit]:
    """Henry VIII is the eighth, Chapter IV is 4; "I" is a number only where no sentence goes on with it."""
    for match in _NUMERAL.finditer(text):
        for group in ("roman", "ruling", "century", "part"):
            written = match[group]
            if written and not (written == "I" and not _AFTER_ONE.match(text, match.end(group))):
                value = _value(written)
                spoken = {
                    "ruling": f"the {' '.join(ordinal(value))}",
                    "century": " ".join(ordinal(value)),
                }.get(group, str(value))
                yield Edit(*match.span(group), spoken)


def _value(numeral: str) -> int:
    values = [_ONE[letter] for letter in numeral]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))
