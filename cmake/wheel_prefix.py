"""Prints the prefix that a distribution is installed in: wheel_prefix.py DISTRIBUTION FILE.

FILE is the name of a file that the distribution has in <prefix>/lib/cmake/<package>.
"""

import importlib.metadata
import pathlib
import sys


def main() -> int:
    name, marker = sys.argv[1:]
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return 1
    found = [path for path in distribution.files or [] if path.name == marker]
    if not found:
        return 1
    print(pathlib.Path(distribution.locate_file(found[0])).resolve().parents[3])
    return 0


if __name__ == "__main__":
    sys.exit(main())
