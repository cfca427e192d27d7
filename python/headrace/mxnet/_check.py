"""`python -m headrace.mxnet --check`: what a program for MXNet finds in Headrace, without running it."""

from __future__ import annotations

import functools
import importlib
import pathlib
import re
import sys
import types
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from . import _names
from ._uses import Use, uses_in

_DIFFERENCES = pathlib.Path(__file__).with_name("differences.md")
_SECTION = "## Other than MXNet"


class Finding(NamedTuple):
    """One name that a file uses: the lines, whether Headrace has it, and what there is to say."""

    name: str
    lines: list[int]
    kind: str  # there, differs, missing, unknown
    text: str


def check(targets: Iterable[str]) -> int:
    """Prints what each file uses that is missing or other than in MXNet. 1: something is missing, else 0.

    Raises OSError for a file that cannot be read.
    """
    missing = 0
    for target in targets:
        for path in _sources(pathlib.Path(target)):
            missing += _print_report(path)
    return 1 if missing else 0


def findings_in(uses: Iterable[Use]) -> list[Finding]:
    """What there is to say about each name, by kind and line. `install()` was called."""
    lines: dict[tuple[str, bool], list[int]] = {}
    for use in uses:
        lines.setdefault(_resolved(use.path), []).append(use.line)
    found = [Finding(name, at, *_judged(name, is_there)) for (name, is_there), at in lines.items()]
    return sorted(found, key=lambda one: (one.kind == "there", one.kind == "differs", one.lines))


def _sources(target: pathlib.Path) -> Iterator[pathlib.Path]:
    if target.is_dir():
        yield from sorted(path for kind in ("*.py", "*.ipynb") for path in target.rglob(kind))
    else:
        yield target


def _print_report(path: pathlib.Path) -> int:
    """Prints the report of one file; how many of its names are not in Headrace."""
    try:
        found = findings_in(uses_in(path))
    except SyntaxError as error:
        print(f"{path}: cannot be read as Python: {error.msg} (line {error.lineno or 1})")
        return 1
    if not found:
        return 0
    told = [one for one in found if one.kind != "there"]
    missing = sum(one.kind in ("missing", "unknown") for one in found)
    print(f"{path}: {len(found)} names of MXNet, {missing or 'none'} missing")
    for one in told:
        places = ", ".join(map(str, one.lines[:5])) + (", ..." if len(one.lines) > 5 else "")
        print(f"  {one.kind:8} line {places}: {one.text}")
    return missing


def _judged(name: str, is_there: bool) -> tuple[str, str]:
    """Kind and text of what `_resolved` gave."""
    if not is_there:
        kind = "missing" if _names.is_public(name) else "unknown"
        return kind, _names.missing_text(name)
    if name in sys.modules:
        return "there", ""
    notes = [text for names, text in _differences() if any(f".{name}".endswith(f".{one}") for one in names)]
    return ("differs", f"{name}: {' '.join(notes)}") if notes else ("there", "")


def _resolved(path: str) -> tuple[str, bool]:
    """The path up to the first thing that is no module, or that is missing; and whether it is there."""
    parts = path.split(".")
    value: object = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        if not isinstance(value, types.ModuleType):
            return ".".join(parts[: i - 1]), True
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(".".join(parts[:i]))
            except ImportError:
                return ".".join(parts[:i]), False
    return path, True


@functools.cache
def _differences() -> list[tuple[set[str], str]]:
    """The sentences that say what is other than in MXNet, each with the names in it."""
    section = _DIFFERENCES.read_text(encoding="utf-8").partition(_SECTION)[2]
    paragraphs = [" ".join(text.split()) for text in re.split(r"\n- ", section)[1:]]
    sentences = [sentence for text in paragraphs for sentence in re.split(r"(?<=\.) (?=[A-Z`])", text)]
    return [(_names_in(sentence), sentence) for sentence in sentences]


def _names_in(text: str) -> set[str]:
    """Paths in code spans, without what they are called with, and names of classes anywhere."""
    spans = re.findall(r"`([A-Za-z_][\w.]*)", text)
    return {*spans, *re.findall(r"\b[A-Z]\w*[a-z][A-Z]\w*\b", text)}
