"""`python -m headrace.timeline`: makes a page of a timeline, or of several."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import webbrowser

from headrace._shell import run_command
from headrace.timeline import TimelineError, load, merge, page, read


def write(timelines: list[str], output: pathlib.Path, title: str | None = None) -> None:
    """Writes one page, or one JSON file, of all `timelines`. OSError, TimelineError: of these files."""
    document = merge(timelines) if len(timelines) > 1 else None
    if document is not None and output.suffix == ".json":
        text = json.dumps(document)
    elif document is not None:
        text = page(read(document), title or output.stem)
    else:
        text = page(load(timelines[0]), title or pathlib.Path(timelines[0]).name)
    output.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m headrace.timeline",
        description="Makes one HTML page of timelines that headrace.profiler.dump(), --timeline or "
        "HEADRACE_TIMELINE wrote, or of one other file in Chrome's trace format. The page needs no network.",
    )
    parser.add_argument(
        "timeline",
        nargs="+",
        help="the JSON file; several, of one job, are laid over each other",
    )
    parser.add_argument(
        "-o",
        "--output",
        help="the page, or with the ending .json the data of all (default: the name of the file with .html)",
    )
    parser.add_argument("--title", help="heading of the page (default: the name of the file)")
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    options = parser.parse_args(arguments)
    sources = [pathlib.Path(name) for name in options.timeline]
    if len(sources) > 1 and not options.output:
        parser.error("name the page of several timelines with -o")
    output = pathlib.Path(options.output) if options.output else sources[0].with_suffix(".html")
    if output.resolve() in [source.resolve() for source in sources]:
        parser.error(f"the page would overwrite the timeline {output}; name another file with -o")
    try:
        write(options.timeline, output, options.title)
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
