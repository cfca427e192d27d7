"""`python -m headrace.timeline`: makes a page of a timeline."""

from __future__ import annotations

import argparse
import pathlib
import sys
import webbrowser

from headrace._shell import run_command
from headrace.timeline import TimelineError, load, page


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m headrace.timeline",
        description="Makes one HTML page of a timeline that headrace.profiler.dump(), --timeline or "
        "HEADRACE_TIMELINE wrote, or of another file in Chrome's trace format. The page needs no network.",
    )
    parser.add_argument("timeline", help="the JSON file")
    parser.add_argument("-o", "--output", help="the page (default: the name of the file with .html)")
    parser.add_argument("--title", help="heading of the page (default: the name of the file)")
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    options = parser.parse_args(arguments)
    source = pathlib.Path(options.timeline)
    output = pathlib.Path(options.output) if options.output else source.with_suffix(".html")
    if output.resolve() == source.resolve():
        parser.error(f"the page would overwrite the timeline {source}; name another file with -o")
    try:
        text = page(load(str(source)), options.title or source.name)
        output.write_text(text, encoding="utf-8")
    except (OSError, TimelineError) as error:
        print(f"python -m headrace.timeline: {error}", file=sys.stderr)
        return 1
    print(f"wrote {output}")
    if options.open and not webbrowser.open(output.resolve().as_uri()):
        print(f"python -m headrace.timeline: no browser was found; open {output} yourself", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    run_command(main, sys.argv[1:])
