"""The sources that the checks in this folder look at."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
CPP_SUFFIXES = frozenset({".h", ".hpp", ".cc", ".cu"})


def list_sources(root: pathlib.Path, suffixes: frozenset[str]) -> list[pathlib.Path]:
    """Paths below `root`, relative to it, of the files with these suffixes that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    paths = {pathlib.Path(name) for name in listed.split("\0") if name}
    return sorted(path for path in paths if path.suffix in suffixes and (root / path).is_file())
