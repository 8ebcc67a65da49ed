"""Formulas that are read, and text that is left out."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.runtime.text.markup import MarkupVocabulary, TextRun, parse_markup
from kokoro_tvm.runtime.text.markup.formulas import FORMULA, write_formula
from kokoro_tvm.runtime.text.markup.omissions import OMISSIONS, omit

VOCABULARY = MarkupVocabulary("ab", lambda voice: "a")
PIECES = [
    "$x^2$", "$", "$5", "\\frac{1}{2}", "\\frac", "{a}", "\\(a\\)", "\\[", "\\]", "$$b$$", "`c`", "``",
    "`", "```\n", "[3]", "[4, 5]", "(Lee, 2020)", "(", ")", "[^1]", "[^1]: note\n", "word¹", "².",
    "\n", "  ", " ", ". ", "word",
    "\\begin{align} a &= b \\end{align}", "[pause:1s]", "_1", "^", "2", "\\\n",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def kept(text: str | Iterable[str], *kinds: str) -> str:
    """The text that is spoken; | for a break."""
    items = omit(parse_markup(text, VOCABULARY), kinds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpeechWarning)
        return "".join(item.source.text if isinstance(item, TextRun) else "|" for item in items)


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("$y^3$", "y³"),
        (r"\frac{3}{4}", "3/4"),
        (r"$\frac{a}{b+1}$", "a ÷ (b + 1)"),
        (r"\(2\pi r\)", "2 π r"),
        (r"$$\sqrt{a^2+b^2}$$", "√ (a² + b²)"),
        (r"$\sqrt[3]{27}$", "∛27"),
        (r"\[\int_a^b g(t)\,dt\]", "∫ a → b, g(t) d t"),
        (r"$\sum_{k=0}^{9} k$", "∑ k = 0 → 9, k"),
        (r"$x_1 - x_{min}$", "x 1 ➖ x min"),
        (r"$y^{n-1}$", "y^(n ➖ 1)"),
        (r"$10^{-6}$", "10⁻⁶"),
        (r"$25^\circ$", "25°"),
        (r"$g''(t)$", "g′′ (t)"),
        (r"$\text{area} \geq 0$", "area ≥ 0"),
        (r"\begin{align*} p &= q \\ r &= s \end{align*}", "p = q, r = s"),
        (r"$\cos t$", "cos\u2061 t"),
        (r"$\left( u \right)$", "(u)"),
        (r"$\frac{a$", "a ÷"),
        (r"$\binom{n$", "(n, )"),
        (r"$\frac{\sqrt$", "(√) ÷"),
        (r"$\int_0^\infty e^{-x^2}\,dx$", "∫ 0 → ∞, e^(➖x²) d x"),
        (r"$\sum_{i=1}^n (x_i - \mu)^2$", "∑ i = 1 → n, (x i ➖ μ)²"),
        (r"$P(A \mid B)$", "P(A ∣ B)"),
        (r"$\text{K}^+$", "K⁺"),
        (r"$a \equiv b \pmod{7}$", "a ≡ b mod 7"),
        (r"\boxed{42}", "42"),
    ],
)
def test_write_formula_writes_a_line(written: str, line: str) -> None:
    match = FORMULA.fullmatch(written)
    assert match is not None
    assert write_formula(match) == line


@pytest.mark.parametrize(
    "text",
    [
        "It cost $5 and then $10.",
        "$5-$10",
        "echo $HOME and $PATH",
        "US$ 3, US$ 4",
        "a_b and c^d",
        r"C:\new\folder",
    ],
)
def test_omit_keeps_what_is_no_formula(text: str) -> None:
    assert kept(text) == text


@pytest.mark.parametrize(
    ("kind", "text", "rest"),
    [
        ("math", "So $a=b$, then \\frac{1}{2}.", "So, then."),
        ("citations", "Known [12] since long [3, 7–9].", "Known since long."),
        (
            "citations",
            "As said (Doe et al., 1999, p. 7; Roe 2001b), it (2020) holds.",
            "As said, it (2020) holds.",
        ),
        ("citations", "The [word](/page/) and [see] stay.", "The word and [see] stay."),
        ("notes", "End.¹ Then more² of it, and m².", "End. Then more of it, and m²."),
        ("notes", "A[^a] b\n\n[^a]: It says\n  so.\nNext", "A b\n\n\nNext"),
        ("code", "Call `f(x)` now.\n```py\nx = 1\n```\nDone", "Call now.\n\nDone"),
    ],
)
def test_omit_leaves_out_a_kind(kind: str, text: str, rest: str) -> None:
    assert kept(text, kind).replace("the word", "the word") == rest
    others = set(OMISSIONS) - {kind, "math"}
    assert kept(text, *others) == kept(text)


def test_omit_does_not_read_code_as_a_formula() -> None:
    assert kept("Run `$a=$b` or $a=b$.") == "Run `$a=$b` or a = b."


def test_omit_keeps_places() -> None:
    (run,) = omit(parse_markup("Let $x^2$ be.", VOCABULARY))
    assert isinstance(run, TextRun)
    place = run.source.text.index("x²")
    assert run.source.span(place, place + 2) == (4, 9)
    assert run.source.span(len(run.source.text) - 3, len(run.source.text)) == (10, 13)


def test_omit_tells_what_was_left_out() -> None:
    with pytest.warns(SpeechWarning, match=re.escape("Left out, as asked: 2 citations, 1 formula.")):
        list(omit(parse_markup("A [1] b [2] $c=d$.", VOCABULARY), ["math", "citations"]))


def test_omit_refuses_an_unknown_kind() -> None:
    with pytest.raises(InputError, match="There is no kind of text 'verse' to skip"):
        list(omit([], ["verse"]))


@given(text=texts, kinds=st.sets(st.sampled_from(sorted(OMISSIONS))), size=st.integers(1, 9))
@example(text="\\frac{1}{2}", kinds=set(), size=1)
@example(text="[^1]: note\n  and\nb", kinds={"notes"}, size=1)
def test_omit_depends_on_the_text_alone(text: str, kinds: set[str], size: int) -> None:
    portions = [text[place : place + size] for place in range(0, len(text), size)]
    assert kept(portions, *kinds) == kept(text, *kinds)
