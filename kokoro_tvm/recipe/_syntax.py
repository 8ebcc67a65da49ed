"""What the YAML reader could not read, in words for whoever wrote the file."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from kokoro_tvm.recipe._source import LocatedRecipeError, RecipeText, Span

__all__ = ["not_yaml"]

_ESCAPE = "a backslash in double quotes begins an escape: write two, or put the text in single quotes"

# How the reader's words begin -> what to do about it. Others are passed on as they are.
_WORDS = {
    "did not find expected ',' or ']'": "a comma or `]` is missing before this: items stand as [a, b]",
    "did not find expected ',' or '}'": "a comma or `}` is missing before this: keys stand as {a: 1, b: 2}",
    "did not find expected node content": "a value is missing before this",
    "could not find expected ':'": "this line is no `key: value`; is the colon missing, or the space after?",
    "mapping values are not allowed in this context": (
        "a second `: ` where a value is being read: put text that holds one in quotes, "
        "and begin every key of a mapping in the same column"
    ),
    "did not find expected key": "a key should stand here: begin every key of a mapping in the same column",
    "did not find expected '-' indicator": (
        "an item of the list above should stand here: begin every `- ` in the same column"
    ),
    "block sequence entries are not allowed in this context": (
        "a list cannot begin here: write `- ` on a line of its own below the key, or [a, b] beside it"
    ),
    "found character that cannot start any token": "no value begins with this character: put text in quotes",
    "found unknown escape character": _ESCAPE,
    "did not find expected hexdecimal number": _ESCAPE,
    "found invalid Unicode character escape code": _ESCAPE,
    "did not find expected comment or line break": "the text of `|` and `>` begins on the line after them",
    "found unexpected ':'": "a space is missing after the colon: write `key: value`",
    "found unexpected end of stream": "the quote that opens here is never closed",
    "did not find expected <document start>": "the recipe ended before this; it is `key: value` lines only",
}

# The reader goes on to the next line or the end before it complains of these.
_SEEN_LATE = ("found unexpected end of stream", "could not find expected ':'")


def not_yaml(
    source: RecipeText, error: yaml.MarkedYAMLError, open_brackets: Sequence[Span]
) -> LocatedRecipeError:
    """An error in the reader's grammar; a bracket or quote left open is shown where it opens."""
    problem = error.problem or "it cannot be read"
    mark = error.context_mark if problem.startswith(_SEEN_LATE) else error.problem_mark
    span = Span(source, mark.line + 1, mark.column + 1) if mark else Span(source, 1, 1)
    at_end = not any(line.partition("#")[0].strip() for line in _rest(source.text, span))
    if open_brackets and at_end and mark is error.problem_mark:
        return open_brackets[-1].error("not valid YAML: what opens here is never closed")
    context = f" {error.context}" if error.context else ""
    message = next(
        (message for words, message in _WORDS.items() if problem.startswith(words)), problem + context
    )
    if open_brackets and mark is error.problem_mark:
        message += f" (inside what opens at {open_brackets[-1].line}:{open_brackets[-1].column})"
    return span.error(f"not valid YAML: {message}")


def _rest(text: str, span: Span) -> list[str]:
    """The rest of a place's line and the lines after it."""
    first, *others = text.split("\n")[span.line - 1 :] or [""]
    return [first[span.column - 1 :], *others]
