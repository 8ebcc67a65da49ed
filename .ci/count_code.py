"""Print the lines of code of each folder of a Python package.

A line of code has a token that is no comment or docstring.
"""

import ast
import sys
import tokenize
from collections import Counter
from pathlib import Path

LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def count_code(path: Path) -> int:
    """Count the lines of one file that hold code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = [
        node.body[0]
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None
    ]
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in LAYOUT][1:]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - {line for node in docstrings for line in range(node.lineno, node.end_lineno + 1)})


if __name__ == "__main__":
    package, totals = Path(sys.argv[1]), Counter()
    for path in package.rglob("*.py"):
        totals[path.relative_to(package).parts[0]] += count_code(path)
    for name, lines in [*totals.most_common(), ("total", totals.total())]:
        print(f"{lines:7,} {name}")
