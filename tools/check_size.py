"""Checks that files and functions stay small. Usage: check_size.py [ROOT]

C++ functions are found by matching braces in the text without comments and strings, Python's by parsing.
"""

import ast
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

import sources

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60

# Comments, raw strings, strings and characters; a digit separator (1'000) is not a character.
QUIET = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
CONTROL = re.compile(r"^(?:else\s+)?(?:if|for|while|switch|catch)\b")
ATTRIBUTE = re.compile(r"\balignas\([^()]*\)|\[\[.*?\]\]")
NOT_A_FUNCTION = re.compile(
    r"^(?:template\s*<.*>\s*)?(?:inline\s+)?(?:namespace|class|struct|union|enum|extern)\b[^()]*$", re.DOTALL
)


class Function(NamedTuple):
    line: int
    lines: int
    name: str


def without_quiet_parts(text: str) -> str:
    """The text with comments, strings and directives blanked out, line by line the same."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    return DIRECTIVE.sub(blank, QUIET.sub(blank, text))


def is_function(header: str) -> bool:
    """Whether the `{` after this text, all since the last `;`, `{` or `}`, opens a function or a lambda."""
    header = ATTRIBUTE.sub("", header).strip()
    if header.endswith("]"):
        return True
    if ")" not in header or CONTROL.match(header) or NOT_A_FUNCTION.match(header):
        return False
    return not header.endswith(("=", ",", "(", "return"))


def cpp_functions(text: str) -> Iterator[Function]:
    """The outermost functions: what a function contains counts as its own lines."""
    text = without_quiet_parts(text)
    # Kind of each open brace: function, block, or the value of a name as in `member_{0}` (ends no header).
    open_braces: list[tuple[str, int, str]] = []
    line, start = 1, 0
    for position, character in enumerate(text):
        if character == "\n":
            line += 1
        elif character == ";":
            start = position + 1
        elif character == "{":
            header = text[start:position]
            if re.search(r"[\w>]$", header):
                open_braces.append(("value", line, header))
                continue
            outermost = all(kind != "function" for kind, _, _ in open_braces)
            kind = "function" if outermost and is_function(header) else "block"
            open_braces.append((kind, line, header))
            start = position + 1
        elif character == "}" and open_braces:
            kind, first, header = open_braces.pop()
            if kind == "function":
                yield Function(first, line - first + 1, " ".join(header.split())[:60])
            if kind != "value":
                start = position + 1


def python_functions(text: str) -> Iterator[Function]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(node.lineno, node.end_lineno - node.lineno + 1, node.name)


def problems_of(root: pathlib.Path, file: pathlib.Path) -> Iterator[str]:
    text = (root / file).read_text()
    if (lines := text.count("\n")) > MAX_FILE_LINES:
        yield f"{file}: {lines} lines, at most {MAX_FILE_LINES}: split it by subject"
    for function in python_functions(text) if file.suffix == ".py" else cpp_functions(text):
        if function.lines > MAX_FUNCTION_LINES:
            yield (
                f"{file}:{function.line}: {function.lines} lines in one function, "
                f"at most {MAX_FUNCTION_LINES}: {function.name}"
            )


def main(arguments: list[str]) -> int:
    root = pathlib.Path(arguments[0]) if arguments else sources.ROOT
    files = sources.list_sources(root, sources.CPP_SUFFIXES | {".py"})
    problems = [problem for file in files for problem in problems_of(root, file)]
    print("\n".join([*problems, f"check_size: {len(files)} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
