"""Pages of the public C++ headers: what each declares, with the comments above and in it.

The headers are laid out by clang-format, so what a namespace declares begins in the first column. A comment
belongs to the declaration below it, and to those that follow without a comment or an empty line.
"""

import pathlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from check_size import is_function, without_quiet_parts

from . import prose

NAMESPACE = re.compile(r"^(?:inline )?namespace ([\w:]+) \{$")
SKIPPED = re.compile(
    r"#|using namespace|template <>|(?:class|struct|enum class) \w+;|friend |extern template"
)
TYPE = re.compile(r"^(?:template <[^{]*>\s*)?(?:class|struct|enum class|enum) (?:alignas\(\w+\) )?(\w+)")
FUNCTION = re.compile(r"(operator\s*(?:\(\)|[^\s\w(]+|[\w:<>]+(?= ?\())|[\w:~]+)\s*\(")
ALIAS = re.compile(r"^(?:template <[^{]*>\s*)?(?:using (\w+)|.*?(\w+)(?:\[\])?\s*(?:=|\{|;))", re.DOTALL)


class Declaration(NamedTuple):
    """One thing that a namespace shows: its code without bodies of functions, and the comment above it."""

    namespace: str  # without the outermost, "gluon::nn"
    name: str
    is_type: bool
    comment: str
    code: str
    continues: bool  # stands right below the one before it, and under the same comment


def introduction(text: str) -> str:
    """The comment that a header begins with."""
    return uncommented(text.partition("#pragma once")[0].splitlines())


def uncommented(lines: list[str]) -> str:
    return "\n".join(line.strip().removeprefix("//").removeprefix(" ") for line in lines).strip("\n")


def declarations(text: str) -> Iterator[Declaration]:
    """What the header shows; what is declared elsewhere, or in a namespace for details, is left out."""
    namespaces: list[str] = []
    comment: list[str] = []
    lines = text.partition("#pragma once")[2].splitlines()
    quiet = without_quiet_parts("\n".join(lines)).splitlines()
    at, behind = 0, -1  # the line behind the declaration before
    while at < len(lines):
        line = lines[at]
        end = at + 1
        if found := NAMESPACE.match(line.partition("//")[0].rstrip()):
            namespaces.append(found[1])
        elif line.startswith("}"):
            namespaces.pop()
        elif line.startswith("//"):
            comment.append(line)
        elif not line.strip():
            comment = []
        else:
            end = _end(quiet, at)
            if not SKIPPED.match(line) and not namespaces[-1].endswith("detail"):
                code = shown("\n".join(lines[at:end]))
                name, is_type = _name(without_quiet_parts(code))
                if "::" not in name:
                    scope = "::".join(namespaces).removeprefix("headrace").removeprefix("::")
                    yield Declaration(
                        scope, name, is_type, uncommented(comment), code, at == behind and not comment
                    )
            comment, behind = [], end
        at = end


def _end(quiet: list[str], at: int) -> int:
    """The line behind the declaration that begins in a line; comments and texts are blanked out."""
    depth = 0
    for number in range(at, len(quiet)):
        depth += sum(quiet[number].count(c) for c in "{([") - sum(quiet[number].count(c) for c in "})]")
        text = quiet[number].rstrip()
        if depth == 0 and (text.endswith((";", "}")) or not text and number == at):
            return number + 1
        if depth == 0 and text.startswith("#"):
            return number + 1
    raise ValueError(f"a declaration has no end: {quiet[at]}")


def _name(code: str) -> tuple[str, bool]:
    if found := TYPE.match(code):
        return found[1], True
    head = code.partition("{")[0]
    before = head.partition("(")[0]
    if "=" in before and "operator" not in before:  # a constant, or another name of a type
        head = before
    if "(" in head and (found := FUNCTION.search(head)):
        return " ".join(found[1].split()), False
    found = ALIAS.match(code)
    return (found[1] or found[2]) if found else code.split()[-1], True


def shown(code: str) -> str:
    """Code without bodies of functions, lists of initializers, and what is private."""
    quiet = without_quiet_parts(code)
    kept, start, header = [], 0, 0
    open_braces: list[str] = []  # of a function, of a block, of the value of a name as in `member_{0}`
    for at, character in enumerate(quiet):
        if character == "{" and re.search(r"[\w>]$", quiet[header:at]):
            open_braces.append("value")
        elif character == "{":
            is_body = "function" not in open_braces and is_function(quiet[header:at])
            if is_body:
                kept.append(_without_initializers(code[start:at], quiet[start:at]) + ";")
            open_braces.append("function" if is_body else "block")
            header = at + 1
        elif character == "}":
            kind = open_braces.pop()
            start = at + 1 if kind == "function" else start
            header = header if kind == "value" else at + 1
        elif character == ";":
            header = at + 1
    kept.append(code[start:])
    return _public("".join(kept))


def _without_initializers(head: str, quiet: str) -> str:
    found = re.search(r"\)\s*(?:noexcept\s*)?(:)(?!:)\s*[\w:<>]+[({]", quiet)
    return (head[: found.start(1)] if found else head).rstrip()


def _public(code: str) -> str:
    """A class without its private parts."""
    lines, is_private = [], code.startswith("class ") and "\n public:" not in code
    for line in code.splitlines():
        if found := re.match(r" ( *)(public|protected|private):", line):
            is_private = found[2] == "private"
        if not is_private or line.startswith(("class ", "}")):
            lines.append(line)
    text = "\n".join(line for line in lines if not re.match(r"\s*friend ", line))
    return re.sub(r"\n\n+(?=\n|\};)", "\n", re.sub(r"\n private:$", "", text))


def page(title: str, text: str) -> str:
    """The page of one header."""
    parts = [f"# {title}", prose.fenced("cpp", f"#include <{title}>")]
    parts.append(prose.markdown(introduction(text), "cpp"))
    for group in _groups(declarations(text)):
        names = dict.fromkeys(f"{one.namespace}::{one.name}".removeprefix("::") for one in group)
        parts.append(f"## {prose.escaped(', '.join(names))}")
        parts.append(prose.markdown(group[0].comment, "cpp"))
        parts.append(prose.fenced("cpp", "\n".join(one.code for one in group)))
    return "\n\n".join(filter(None, parts)) + "\n"


def _groups(found: Iterator[Declaration]) -> list[list[Declaration]]:
    """Declarations under one heading: those that share a comment, and further ones of the same name."""
    groups: list[list[Declaration]] = []
    for one in found:
        is_same = groups and not one.comment and any(one.name == other.name for other in groups[-1])
        if groups and (one.continues or is_same):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def pages(root: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Name and text of the page of each public header, and of their list."""
    folder = root / "include"
    listed = []
    for file in sorted(folder.rglob("*.hpp")):
        name = file.relative_to(folder).with_suffix("").as_posix()
        listed.append(f"cpp/{name}")
        yield listed[-1], page(f"{name}.hpp", file.read_text(encoding="utf-8"))
    toctree = prose.fenced("{toctree}", ":maxdepth: 1\n\n" + "\n".join(listed))
    yield "cpp", f"# C++ headers\n\n{INTRODUCTION}\n\n{toctree}\n"


INTRODUCTION = """\
`#include <headrace/headrace.hpp>` brings all of them. The functions of operators, `headrace::nd::softmax` and
its like, are on the pages of [operators](operators.md)."""


def operator_functions(text: str) -> dict[str, str]:
    """Name (`nd::softmax`) to declarations, of the header that is made from the catalogue."""
    found: dict[str, str] = {}
    for one in declarations(text):
        if not one.is_type:
            name = f"{one.namespace}::{one.name}"
            code = one.code.removeprefix("inline ").replace(f" {one.name}(", f" {name}(", 1)
            found[name] = f"{found[name]}\n{code}" if name in found else code
    return found
