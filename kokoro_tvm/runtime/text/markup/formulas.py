r"""Formulas of LaTeX, written in a line of Unicode that the rules of every language read.

`\frac{a+b}{2}` becomes `(a + b) ÷ 2`, `x^2` becomes `x²`, `\alpha` becomes `α`. A minus becomes ➖, because
every dash becomes a hyphen before forms are read. U+2061 follows the name of a function.
"""

from __future__ import annotations

import re

_FUNCTION_END = "\u2061"
_MAX_DEPTH = 12
_NAMED = (
    "frac|dfrac|tfrac|cfrac|sqrt|int|iint|oint|sum|prod|lim|vec|hat|bar|overline|binom|boxed|text|mathrm|mathbf|mathbb|"
    "alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|"
    "varphi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Pi|Sigma|Phi|Psi|Omega|infty|partial|nabla|times|cdot|div|"
    "pm|leq?|geq?|neq?|approx|equiv|propto|to|rightarrow|Rightarrow|sin|cos|tan|log|ln|exp"
)
_GROUP = r"\{(?:[^{}\n]|\{(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]{0,80}\}){0,120}\}){0,200}\}){0,400}\}"
ARGUMENT = rf"(?:\[[^\[\]\n]{{0,20}}\]|{_GROUP}|[_^](?:{_GROUP}|\\?[A-Za-z0-9]))"
"""A group, an option, or an exponent or index behind a command."""
# No space follows the opening dollar; none precedes the closing one, and no figure follows that (Pandoc's
# rule). Between them is a sign of mathematics, or a single letter or number, and no end of a sentence.
FORMULA = re.compile(
    r"\$\$(?P<display>(?:[^$\\]|\\.){1,2000}?)\$\$"
    r"|\\\[(?P<square>(?:(?!\\\]).){1,2000}?)\\\]"
    r"|\\\((?P<round>(?:(?!\\\)).){1,2000}?)\\\)"
    r"|\\begin\{(?P<name>equation|align|gather|multline|displaymath|math)\*?\}(?P<block>.{1,2000}?)\\end\{(?P=name)\*?\}"
    r"|\$(?P<inline>(?![\s$])(?=[^$]{0,400}?[\\^_=+*/<>{}|]|[A-Za-z]-[A-Za-z0-9]\$|[A-Za-z]'{0,3}\(|-?\w[\w,.]{0,9}'*\$)(?:[^$\\\n.!?]|\\[^\n]|[.!?](?!\s)){1,400}?(?<!\s))\$(?![0-9])"
    rf"|(?P<bare>\\(?:{_NAMED})(?![A-Za-z]){ARGUMENT}{{0,4}})",
    re.DOTALL,
)
_TOKEN = re.compile(r"\\(?:[A-Za-z]+\*?|.)|\d+(?:[.,]\d+)*|\s+|.", re.DOTALL)
_SIGNS = {
    "times": "×", "cdot": "×", "ast": "×", "div": "÷", "pm": "±", "mp": "±", "leq": "≤", "le": "≤",
    "leqslant": "≤", "geq": "≥", "ge": "≥", "geqslant": "≥", "lt": "<", "gt": ">", "ne": "≠", "neq": "≠",
    "approx": "≈", "sim": "≈", "simeq": "≈", "equiv": "≡", "propto": "∝", "infty": "∞", "partial": "∂",
    "nabla": "∇", "int": "∫", "iint": "∫", "iiint": "∫", "oint": "∫", "sum": "∑", "prod": "∏", "in": "∈",
    "notin": "∉", "subset": "⊂", "subseteq": "⊂", "cup": "∪", "cap": "∩", "forall": "∀", "exists": "∃",
    "to": "→", "rightarrow": "→", "longrightarrow": "→", "mapsto": "→", "implies": "⇒", "Rightarrow":
    "⇒", "iff": "⇔", "Leftrightarrow": "⇔", "leftarrow": "←", "alpha": "α", "beta": "β", "gamma": "γ",
    "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ", "vartheta":
    "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho":
    "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ",
    "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma":
    "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "ell": "l", "hbar": "h", "circ": "°", "degree": "°",
    "prime": "′", "ldots": "…", "cdots": "…", "dots": "…", "%": "%", "$": "$", "&": "&", "#": "#", "_":
    "_", "{": "(", "}": ")", "|": "|", "lbrace": "(", "rbrace": ")", "langle": "(", "rangle": ")",
    "lfloor": "(", "rfloor": ")", "lceil": "(", "rceil": ")", "mid": "∣", "vert": "|", "lvert": "|",
    "rvert": "|", "gg": ">", "ll": "<", "pmod": "mod", "bmod": "mod",
}  # fmt: skip
_FUNCTIONS = frozenset({
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
    "log", "ln", "exp", "lim", "max", "min", "sup", "inf", "det", "gcd",
})  # fmt: skip
_TEXTS = frozenset({
    "text", "textbf", "textit", "textrm", "mathrm", "mathbf", "mathit", "mathsf", "mathcal", "mathbb",
    "mathfrak", "operatorname", "boxed", "vec", "hat", "bar", "overline", "tilde", "dot", "ddot",
    "underline", "boldsymbol", "overbrace", "underbrace",
})  # fmt: skip
_SPACES = frozenset({
    ",", ";", ":", "!", " ", "quad", "qquad", "left", "right", "big", "Big", "bigl", "bigr", "Bigl",
    "Bigr", "bigg", "Bigg", "displaystyle", "limits", "nolimits", "nonumber", "hline",
})  # fmt: skip
_LARGE = ("∫", "∑", "∏")
_OPERATORS = frozenset("=<>+×÷±≤≥≠≈≡∝∈∉⊂∪∩→⇒⇔←")
RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
"""Figures and signs to their raised forms."""
_SIMPLE = re.compile(r"[\w.,°′…]*[⁰¹²³⁴-⁹]*")
_INTEGER = re.compile(r"\d{1,9}")
_POWER = re.compile(r"-?\d{1,9}|\d?[+-]")


def write_formula(match: re.Match[str]) -> str:
    """Return a match of `FORMULA` as a line of Unicode."""
    written = next(
        match[name] for name in ("display", "square", "round", "block", "inline", "bare") if match[name]
    )
    return _Formula(written).write()


class _Formula:
    """Tokens of a formula that are not written yet."""

    def __init__(self, written: str) -> None:
        self._tokens = _TOKEN.findall(written)
        self._place = 0

    def write(self) -> str:
        """Return the whole formula."""
        parts = []
        while self._place < len(self._tokens):
            parts.append(self._sequence(0))
            self._place += 1  # a brace too many
        return " ".join(part for part in parts if part)

    def _sequence(self, depth: int, closing: str = "}") -> str:
        """Write atoms up to a closing brace or bracket, which stays."""
        written = ""
        has_bound = False  # whether a lower bound of a large operator stands at the end
        while self._place < len(self._tokens) and self._tokens[self._place] not in (closing, "}"):
            token = self._next()
            before, had_bound, has_bound = written, has_bound, False
            if token in "^_" and token:
                written = self._script(written, token, depth, had_bound)
                has_bound = token == "_" and before.endswith(_LARGE)
            elif token == "'":
                written += "′"
            elif token in "=<>+*" or token == "-":
                written = _append(written, {"*": "×", "-": "➖"}.get(token, token))
            elif atom := self._atom(token, depth):
                written = _append(written, atom)
        return written.strip()

    def _script(self, written: str, token: str, depth: int, has_bound: bool) -> str:
        """Append an exponent or an index, or the bounds of a large operator."""
        word = self._word() if token == "_" else ""
        script = word or self._argument(depth)
        if token == "_" or written.endswith((*_LARGE, "lim" + _FUNCTION_END)):
            return f"{written} {script}"
        if has_bound:
            return f"{written} → {script},"
        if script in ("°", "′"):
            return written + script
        minus = script.replace("➖", "-")
        if _POWER.fullmatch(minus):
            return written + minus.translate(RAISED)
        return f"{written}{' ' * written.endswith(')')}^{_grouped(script)}"

    def _atom(self, token: str, depth: int) -> str:
        if token == "{":
            return self._group(depth)
        if token.isspace() or token in "~&":
            return ""
        if not token.startswith("\\"):
            return token
        name = token[1:].rstrip("*")
        if name == "\\":
            return ","
        if name in ("frac", "dfrac", "tfrac", "cfrac"):
            over, under = self._argument(depth + 1), self._argument(depth + 1)
            plain = _INTEGER.fullmatch(over) and _INTEGER.fullmatch(under)
            return f"{over}/{under}" if plain else f"{_grouped(over)} ÷ {_grouped(under)}"
        if name == "sqrt":
            degree = self._optional(depth + 1)
            radicand = _grouped(self._argument(depth + 1))
            root = {"": "√", "3": "∛"}.get(degree, f"{degree} √")
            return f"{root} {radicand}" if radicand.startswith("(") else root + radicand
        if name == "binom":
            return f"({self._argument(depth + 1)}, {self._argument(depth + 1)})"
        if name in _TEXTS:
            return (
                self._verbatim()
                if name.startswith(("text", "operator", "mathrm"))
                else self._argument(depth + 1)
            )
        if name in _SPACES:
            return ""
        if name in ("begin", "end"):
            self._verbatim()
            return ""
        if name in _FUNCTIONS:
            return name + _FUNCTION_END
        return _SIGNS.get(name, name)

    def _argument(self, depth: int) -> str:
        """Write a group, or the next atom alone."""
        while self._place < len(self._tokens) and self._tokens[self._place].isspace():
            self._place += 1
        if self._place >= len(self._tokens) or self._tokens[self._place] == "}":
            return ""
        token = self._next()
        if depth > _MAX_DEPTH:
            return token
        if len(token) > 1 and token.isdigit():  # of x^23 the exponent is 2
            self._place -= 1
            self._tokens[self._place] = token[1:]
            token = token[0]
        return self._atom(token, depth) if token != "-" else "➖"

    def _word(self) -> str:
        """Take a group of letters, such as that of `x_{max}`; return "" if the next is none."""
        end = self._place + 1
        while end < len(self._tokens) and self._tokens[end].isalpha():
            end += 1
        if (
            end - self._place < 3
            or self._tokens[self._place : self._place + 1] != ["{"]
            or self._tokens[end:][:1] != ["}"]
        ):
            return ""
        word = "".join(self._tokens[self._place + 1 : end])
        self._place = end + 1
        return word

    def _optional(self, depth: int) -> str:
        if self._place >= len(self._tokens) or self._tokens[self._place] != "[":
            return ""
        self._place += 1
        written = self._sequence(depth, "]")
        self._place += 1
        return written

    def _group(self, depth: int) -> str:
        written = self._sequence(depth + 1) if depth < _MAX_DEPTH else self._verbatim_rest()
        self._place += 1
        return written

    def _verbatim(self) -> str:
        """Return the words of the next group as they are."""
        if self._place >= len(self._tokens) or self._tokens[self._place] != "{":
            return ""
        self._place += 1
        written = self._verbatim_rest()
        self._place += 1
        return written

    def _verbatim_rest(self) -> str:
        start = self._place
        while self._place < len(self._tokens) and self._tokens[self._place] != "}":
            self._place += 1
        return "".join(self._tokens[start : self._place]).strip()

    def _next(self) -> str:
        self._place += 1
        return self._tokens[self._place - 1]


def _append(written: str, atom: str) -> str:
    """Append an atom, with a space where two letters, figures or signs would run together."""
    if not written or written.endswith(" "):
        return written + atom
    touches = len(atom) == 1 and atom in ",;:.!?)]…"
    touches = touches or written[-1] in "([√∛" or (atom == "(" and written[-1].isalpha())
    touches = touches or (written[-1] == "➖" and _is_sign(written))
    return written + ("" if touches else " ") + atom


def _is_sign(written: str) -> bool:
    """Return whether the minus at the end is a sign: nothing, or an operator, stands before it."""
    before = written[:-1].rstrip()
    return not before or before[-1] in _OPERATORS or before[-1] in "(➖,"


def _grouped(written: str) -> str:
    """Return an operand, in brackets if it is more than a word."""
    return written if _SIMPLE.fullmatch(written) else f"({written})"
