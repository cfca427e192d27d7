"""Checks that names of anonymous namespaces differ within a folder. Usage: check_names.py [ROOT]

The release build compiles several files of a folder at once (cmake/unity.cmake), all but those of kernels.
Looks at what begins a line inside `namespace {`, as clang-format has it; equal lines `using A = B;` may be in
several files, and uses of macros.
"""

import pathlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import sources
from check_size import without_quiet_parts

TOGETHER = re.compile(r"(?:src|python/src)/.*\.cc$|tests/.*_test\.cc$")
OPENING = re.compile(r"(?:inline )?namespace(?P<name> [\w:]+)? \{$")
TYPE = re.compile(
    r"(?:struct|class|union|enum(?: class)?)(?: alignas\(\w+\))? (?P<name>\w+)(?: final)?(?: [:{]|;)"
)
ALIAS = re.compile(r"(?:using|namespace) (?P<name>\w+) =")
# The first name before a parameter list, an initialiser or the end: of a function or a variable; no macro.
OTHER = re.compile(r"(?:[\w:<>,*&\s]|\[\[\w+\]\])*?(?<![\w:])(?P<name>\w*[a-z]\w*)(?:\(|\[\d*\w*\]| =|\{|;)")
DECLARES_NOTHING = re.compile(r"template <[^()]*>$|requires |using (?:namespace|enum) ")


def is_alone(root: pathlib.Path, file: pathlib.Path) -> bool:
    return file.name.endswith("_cpu.cc") or "hwy/foreach_target.h" in (root / file).read_text()


class Name(NamedTuple):
    name: str
    line: int
    text: str


def anonymous_names(text: str) -> Iterator[Name]:
    """The names that the anonymous namespaces of a file declare; one that it declares twice comes twice."""
    open_namespaces: list[str | None] = []
    lines = text.splitlines()
    for number, line in enumerate(without_quiet_parts(text).splitlines(), start=1):
        line = line.rstrip()
        if opening := OPENING.match(line):
            open_namespaces.append(opening["name"])
        elif line == "}" and lines[number - 1].startswith("}  // namespace"):
            open_namespaces.pop()
        elif None in open_namespaces and line[:1].strip() and not DECLARES_NOTHING.match(line):
            match = TYPE.match(line) or ALIAS.match(line) or OTHER.match(line)
            if match:
                yield Name(match["name"], number, line)


def problems(root: pathlib.Path, files: list[pathlib.Path]) -> Iterator[str]:
    seen: dict[tuple[pathlib.Path, str], dict[pathlib.Path, Name]] = defaultdict(dict)
    for file in files:
        for name in anonymous_names((root / file).read_text()):
            seen[file.parent, name.name].setdefault(file, name)
    for (_, text), places in seen.items():
        declarations = {place.text for place in places.values()}
        if len(places) > 1 and not (len(declarations) == 1 and ALIAS.match(declarations.pop())):
            first, *others = (f"{file}:{place.line}" for file, place in places.items())
            yield f"{first}: {text} is a name in {', '.join(others)}, too: say what it is, or share it"


def main(arguments: list[str]) -> int:
    root = pathlib.Path(arguments[0]) if arguments else sources.ROOT
    files = [
        file
        for file in sources.list_sources(root, frozenset({".cc"}))
        if TOGETHER.match(file.as_posix()) and not is_alone(root, file)
    ]
    found = list(problems(root, files))
    print("\n".join([*found, f"check_names: {len(files)} files, {len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
