"""Checks that includes and imports follow the order of the tree. Usage: check_layers.py [ROOT]

The rules, and the order itself, are in cpp_layers.py and python_layers.py.
"""

import pathlib
import sys

import cpp_layers
import python_layers
import sources


def main(arguments: list[str]) -> int:
    root = pathlib.Path(arguments[0]) if arguments else sources.ROOT
    cpp = [
        file
        for file in sources.list_sources(root, sources.CPP_SUFFIXES)
        if file.parts[0] in ("src", "include")
    ]
    python = [
        file
        for file in sources.list_sources(root, frozenset({".py"}))
        if file.is_relative_to(python_layers.PACKAGE)
    ]
    problems = [*cpp_layers.problems(root, cpp), *python_layers.problems(root, python)]
    print("\n".join([*problems, f"check_layers: {len(cpp) + len(python)} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
