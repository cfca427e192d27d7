"""Prints the Python packages that a working tree needs, one per line, from pyproject.toml."""

import pathlib

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    required = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["dev"],
    ]
    print("\n".join(required))


if __name__ == "__main__":
    main()
