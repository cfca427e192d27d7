"""Pages of what ran when: ``python -m headrace.timeline run.json -o run.html``.

``load(path)`` reads a timeline that the profiler wrote, or another one in Chrome's trace format;
``page(timeline)`` is one HTML document with everything in it, which needs no network.
"""

from ._page import page
from ._read import Curve, Lane, Timeline, TimelineError, load

__all__ = ["load", "page", "Timeline", "Lane", "Curve", "TimelineError"]
