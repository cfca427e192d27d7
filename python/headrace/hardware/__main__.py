"""`python -m headrace.hardware`: measures this machine, from a shell."""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import sys
from collections.abc import Sequence

from headrace._core import hardware as _hardware
from headrace._shell import run_command
from headrace.hardware import descriptions, measure, svg, table, to_json


def _parser() -> argparse.ArgumentParser:
    subjects = ", ".join(dict.fromkeys(row["subject"] for row in descriptions()))
    parser = argparse.ArgumentParser(
        prog="python -m headrace.hardware",
        description="Measures this machine beside the latency numbers of 'Dive into Deep Learning', "
        "section 12.4. Let nothing else run meanwhile.",
        epilog=f"subjects: {subjects}",
        allow_abbrev=False,
    )
    parser.add_argument("--list", action="store_true", help="print what can be measured, and measure nothing")
    parser.add_argument("--only", metavar="NAME,...", help="only these measurements or subjects")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument(
        "--directory",
        metavar="DIR",
        help="where to measure the disk (default: the folder for temporary files)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON, too")
    parser.add_argument("--plot", metavar="FILE.svg", help="draw the results as SVG, too")
    return parser


def _list_text() -> str:
    rows = [(row["name"], row["what"], row["subject"]) for row in descriptions()]
    width = max(len(name) for name, _, _ in rows)
    lines = []
    subject = None
    for name, what, now in rows:
        if now != subject:
            lines.append(now)
            subject = now
        lines.append(f"  {name:{width}}  {what}")
    return "\n".join(lines)


def _show_progress(name: str) -> None:
    print(f"\r\033[Kmeasuring {name}", end="", file=sys.stderr, flush=True)


def _run(options: argparse.Namespace) -> None:
    names = options.only.split(",") if options.only is not None else []
    _hardware.select(names)  # unknown names are told before anything is done
    if options.plot and not options.plot.lower().endswith(".svg"):
        raise ValueError(f"--plot draws SVG: name a file that ends in .svg, got '{options.plot}'")
    interactive = sys.stderr.isatty()
    with contextlib.ExitStack() as stack:
        # Opened first: what cannot be written is told before anything is measured.
        outputs = {
            path: stack.enter_context(pathlib.Path(path).open("w", encoding="utf-8"))
            for path in (options.json, options.plot)
            if path
        }
        results = measure(
            names,
            quick=options.quick,
            directory=options.directory,
            progress=_show_progress if interactive else None,
        )
        if interactive:
            print("\r\033[K", end="", file=sys.stderr)
        print(table(results), end="")
        if options.json:
            print(json.dumps(to_json(results), indent=1), file=outputs[options.json])
        if options.plot:
            outputs[options.plot].write(svg(results))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status: 2 for what cannot be used, with a message on stderr."""
    options = _parser().parse_args(arguments)
    if options.list:
        print(_list_text())
        return 0
    try:
        _run(options)
    except BrokenPipeError:
        raise  # nobody reads the table
    except (ValueError, OSError) as error:
        print(f"python -m headrace.hardware: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    run_command(main, None)
