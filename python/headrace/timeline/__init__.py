"""Pages of what ran when: ``python -m headrace.timeline run.json -o run.html``.

``load(path)`` reads a timeline that the profiler wrote, or another one in Chrome's trace format;
``merge(paths)`` lays those of several processes over each other, and ``read(document)`` reads the result;
``page(timeline)`` is one HTML document with everything in it, which needs no network.
"""

from ._merge import merge
from ._page import page
from ._read import Curve, Lane, Timeline, TimelineError, load, read

__all__ = ["load", "merge", "page", "read", "Timeline", "Lane", "Curve", "TimelineError"]
