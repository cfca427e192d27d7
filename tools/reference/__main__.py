"""Writes the sources of the documentation: links to the pages of docs/, and the pages of the reference.

Usage: python -m reference ROOT HEADER SOURCES. ROOT is the tree, HEADER the C++ header of the operators
that the build made; the folder SOURCES is made anew.
"""

import pathlib
import shutil
import sys

from . import coverage, headers, modules, operators, settings


def main(root: pathlib.Path, header: pathlib.Path, target: pathlib.Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for entry in (root / "docs").iterdir():
        if entry.suffix != ".py":
            (target / entry.name).symlink_to(entry.resolve())
    declared = headers.operator_functions(header.read_text(encoding="utf-8"))
    pages = [
        *operators.pages(root, declared),
        *modules.pages(),
        *headers.pages(root),
        ("coverage", coverage.page()),
        ("settings", settings.page()),
    ]
    for name, text in pages:
        path = target / "reference" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(pages)} pages of the reference in {target}")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
