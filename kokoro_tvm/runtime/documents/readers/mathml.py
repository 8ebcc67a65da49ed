"""MathML's presentation elements, written as LaTeX, which every language reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_ACCENTS = frozenset("¯‾^ˆ~˜→⃗.˙¨_⏞⏟")
_FUNCTIONS = frozenset({
    "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "log", "ln", "exp", "lim", "max",
    "min", "sup", "inf", "det", "gcd",
})  # fmt: skip
_SIGNS = {
    "−": "-", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}",
    "\u2061": "", "\u2062": "", "\u2063": "", "\u2064": "",
}  # fmt: skip
_TEX = "application/x-tex"


class MathBuilder:
    """Collects the elements of one formula in document order."""

    def __init__(self) -> None:
        # Open elements: name, attributes, what is written for the children.
        self._open: list[tuple[str, Mapping[str, str], list[str]]] = [("math", {}, [])]
        self._tex = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element."""
        self._open.append((tag, attributes, []))

    def data(self, text: str) -> None:
        """Add text to the open element."""
        if text.strip():
            self._open[-1][2].append(" ".join(text.split()))

    def end(self) -> None:
        """Close the open element."""
        tag, attributes, children = self._open.pop()
        if tag == "annotation" and attributes.get("encoding", "").lower() == _TEX:
            self._tex = self._tex or " ".join(children)
        elif written := _write(tag, attributes, children):
            self._open[-1][2].append(written)
        elif self._open[-1][0] in _SCHEMATA:
            self._open[-1][2].append("")  # an empty argument keeps its place

    def build(self) -> str:
        """Return the formula as LaTeX."""
        return self._tex or " ".join(self._open[0][2])


def _write(tag: str, attributes: Mapping[str, str], children: Sequence[str]) -> str:
    """Return what is written for an element."""
    joined = " ".join(filter(None, children))
    if tag in _SCHEMATA and len(children) >= _SCHEMATA[tag].count("%s"):
        if tag in ("mover", "munder") and children[1] in _ACCENTS:
            return children[0]
        return _SCHEMATA[tag] % tuple(children[: _SCHEMATA[tag].count("%s")])
    if tag == "mtext":
        return rf"\text{{{joined}}}" if joined else ""
    if tag in ("mi", "mn", "mo"):
        name = "".join(_SIGNS.get(char, char) for char in joined)
        if name in _FUNCTIONS:
            return f"\\{name}"
        return rf"\text{{{name}}}" if tag == "mi" and len(name) > 1 else name
    if tag == "mfenced":
        return attributes.get("open", "(") + ", ".join(children) + attributes.get("close", ")")
    if tag == "mtr":
        return ", ".join(filter(None, children))
    if tag == "mtable":
        return "; ".join(filter(None, children))
    if tag == "msqrt":
        return rf"\sqrt{{{joined}}}"
    return "" if tag in ("annotation", "annotation-xml", "mphantom") else joined


_SCHEMATA = {
    "mfrac": r"\frac{%s}{%s}", "mroot": r"\sqrt{%s}^{1/%s}", "msup": "{%s}^{%s}", "msub": "{%s}_{%s}",
    "msubsup": "{%s}_{%s}^{%s}", "mover": "{%s}^{%s}", "munder": "{%s}_{%s}", "munderover": "{%s}_{%s}^{%s}",
}  # fmt: skip
