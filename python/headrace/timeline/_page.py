"""Makes one HTML document of a timeline: the data, the style and the programs are all inside."""

from __future__ import annotations

import base64
import html
import json
from array import array
from importlib import resources

from ._read import Timeline

# In the order in which they must run.
_SCRIPTS = ("format.js", "model.js", "strip.js", "curves.js", "view.js", "panels.js", "app.js")


class Page(str):
    """An HTML document; Jupyter shows it in a frame."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        document = html.escape(self).replace("\n", "&#10;")  # HTML inside of Markdown ends at an empty line
        return (
            f'<iframe srcdoc="{document}" style="width: 100%; height: 32em; border: 1px solid #888"></iframe>'
        )


def page(timeline: Timeline, title: str = "timeline") -> Page:
    """The document, a str: one HTML page of a Timeline, which needs no network; `title` is its heading.

    Examples
    --------
    >>> from headrace import timeline
    >>> recording = timeline.Timeline(lanes=[], curves=[], marks=[], names=["dot"], categories=["op"], lost=0)
    >>> timeline.page(recording, title="first run")[:15]
    '<!doctype html>'
    """
    parts = {
        "TITLE": html.escape(title),
        "STYLE": _text("page.css"),
        "DATA": data_of(timeline),
        "SCRIPT": "\n".join(_text(name) for name in _SCRIPTS),
    }
    document = _text("page.html")
    before, *rest = document.split("{{")
    pieces = [before]
    for piece in rest:
        name, _, after = piece.partition("}}")
        pieces += [parts[name], after]
    return Page("".join(pieces))


def data_of(timeline: Timeline) -> str:
    """The timeline as JSON that may stand in a script element; columns are base64 of little-endian bytes."""
    document = {
        "names": timeline.names,
        "categories": timeline.categories,
        "lost": timeline.lost,
        "marks": timeline.marks,
        "lanes": [
            {
                "name": lane.name,
                "group": lane.group,
                "clock": lane.clock,
                "kind": lane.kind,
                "begins": _column(lane.begins),
                "durations": _column(lane.durations),
                "names": _column(lane.names),
                "categories": _column(lane.categories),
                "originLanes": _column(lane.origin_lanes),
                "originTimes": _column(lane.origin_times),
            }
            for lane in timeline.lanes
        ],
        "curves": [
            {
                "name": curve.name,
                "category": curve.category,
                "clock": curve.clock,
                "times": _column(curve.times),
                "values": _column(curve.values),
            }
            for curve in timeline.curves
        ],
    }
    return json.dumps(document, separators=(",", ":")).replace("<", "\\u003c")


def _column(values: array) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def _text(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
