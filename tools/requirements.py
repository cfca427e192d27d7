"""Prints the Python packages that a working tree needs, one per line, from pyproject.toml.

With the name of a list of optional dependencies, prints that list instead.
"""

import pathlib
import sys

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    optional = project["project"]["optional-dependencies"]
    required = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *optional["dev"],
    ]
    print("\n".join(optional[sys.argv[1]] if len(sys.argv) > 1 else required))


if __name__ == "__main__":
    main()
