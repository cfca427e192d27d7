"""Draws what `headrace.hardware` measured, as SVG: bars on a logarithmic scale, and the latency curve."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from .._core.hardware import value_text

_WIDTH = 900
_LEFT, _RIGHT = 190, 110  # margins
_ROW = 18  # height of a bar with its gap
_CURVE_HEIGHT = 260
_STYLE = (
    "text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}.grid{stroke:#ddd}"
    ".bar{fill:#4878a8}.book{stroke:#d2691e;stroke-width:3}.curve{fill:none;stroke:#4878a8;stroke-width:2}"
    ".end{text-anchor:end}.middle{text-anchor:middle}"
)


class Drawing(str):
    """An SVG document; Jupyter shows the picture.

    Examples
    --------
    >>> from headrace import hardware
    >>> hardware.Drawing("<svg/>")
    '<svg/>'
    """

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


class Bar(NamedTuple):
    """One measured time and what the book has for it; all in seconds."""

    name: str
    seconds: float
    book: Sequence[float]


class _LogScale:
    """Maps [least, most], widened to whole powers of `base`, to pixels from `start` to `end`."""

    def __init__(self, least: float, most: float, start: float, end: float, base: float = 10) -> None:
        self._base = base
        self._low = math.floor(math.log(least, base) + 1e-9)
        self._high = max(math.ceil(math.log(most, base) - 1e-9), self._low + 1)
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        share = (math.log(value, self._base) - self._low) / (self._high - self._low)
        return round(self._start + share * (self._end - self._start), 1)

    def ticks(self) -> list[float]:
        return [self._base**power for power in range(self._low, self._high + 1)]


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text x="{x}" y="{y}" class="{kind}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="{kind}"/>'


def _bars(bars: Sequence[Bar], top: float) -> Iterator[str]:
    times = [seconds for bar in bars for seconds in (bar.seconds, *bar.book)]
    scale = _LogScale(min(times), max(times), _LEFT, _WIDTH - _RIGHT)
    bottom = top + 40 + _ROW * len(bars)
    yield _text(20, top + 14, "Times", "title")
    yield _text(_LEFT, top + 14, "bars: this machine; orange marks: the book")
    for tick in scale.ticks():
        yield _line(scale(tick), top + 36, scale(tick), bottom, "grid")
        yield _text(scale(tick), top + 32, value_text(tick, "s"), "middle")
    for row, bar in enumerate(bars):
        y = top + 40 + _ROW * row
        length = round(scale(bar.seconds) - _LEFT, 1)
        yield _text(_LEFT - 8, y + 12, bar.name, "end")
        yield f'<rect x="{_LEFT}" y="{y + 2}" width="{length}" height="{_ROW - 5}" class="bar"/>'
        for seconds in bar.book:
            yield _line(scale(seconds), y, scale(seconds), y + _ROW - 1, "book")
        yield _text(_WIDTH - 20, y + 12, value_text(bar.seconds, "s"), "end")


def _curve(points: Sequence[tuple[int, float]], top: float) -> Iterator[str]:
    sizes = [size for size, _ in points]
    times = [seconds for _, seconds in points]
    bottom = top + _CURVE_HEIGHT
    across = _LogScale(min(sizes), max(sizes), _LEFT, _WIDTH - _RIGHT, base=2)
    up = _LogScale(min(times), max(times), bottom, top + 40)
    yield _text(20, top + 14, "Latency", "title")
    yield _text(_LEFT, top + 14, "of random accesses, by the size of the memory that they wander through")
    for tick in up.ticks():
        yield _line(_LEFT, up(tick), _WIDTH - _RIGHT, up(tick), "grid")
        yield _text(_LEFT - 8, up(tick) + 4, value_text(tick, "s"), "end")
    for tick in across.ticks()[::2]:
        yield _line(across(tick), top + 40, across(tick), bottom, "grid")
        yield _text(across(tick), bottom + 18, value_text(tick, "bytes"), "middle")
    path = " ".join(f"{across(size)},{up(seconds)}" for size, seconds in points)
    yield f'<polyline points="{path}" class="curve"/>'


def draw(bars: Sequence[Bar], curve: Sequence[tuple[int, float]]) -> Drawing:
    """The picture. Without bars and without at least two points it has only a line saying so."""
    parts: list[str] = []
    top = 20.0
    if bars:
        parts += _bars(bars, top)
        top += 40 + _ROW * len(bars) + 30
    if len(curve) > 1:
        parts += _curve(curve, top)
        top += _CURVE_HEIGHT + 40
    if not parts:
        parts = [_text(20, top + 14, "No times were measured.")]
        top += 40
    size = f'width="{_WIDTH}" height="{top}" viewBox="0 0 {_WIDTH} {top}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        "<title>Headrace: hardware, measured</title>",
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    return Drawing("\n".join([*head, *parts, "</svg>", ""]))
