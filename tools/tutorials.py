"""Executes tutorials, and makes notebooks of them.

    tutorials.py run PAGE.md...               executes each page; ends with status 1 at the first error
    tutorials.py notebooks FOLDER PAGE.md...  writes each page into the folder as a notebook with its outputs

A tutorial is Markdown. Its ```python blocks are cells, executed one after another in one process, in
an empty folder. What a cell prints is its output, and so is the value of an expression at its end, as in
Jupyter: a picture or page where the value has `_repr_svg_` or `_repr_html_`, a text otherwise.
"""

import argparse
import ast
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

CELL = re.compile(r"^```python\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)
TIME_LIMIT = 300  # seconds for one tutorial; each takes a few


class TutorialError(Exception):
    """A tutorial that failed; the text says where and how."""


def cells_of(text):
    """Dicts of the parts of a page in their order: `kind` ("markdown" or "code"), `source`, `line`."""
    cells, end = [], 0

    def add(kind, source, start):
        if source.strip():
            cells.append({"kind": kind, "source": source.strip("\n"), "line": text.count("\n", 0, start) + 1})

    for found in CELL.finditer(text):
        add("markdown", text[end : found.start()], end)
        add("code", found[1], found.start(1))
        end = found.end()
    add("markdown", text[end:], end)
    return cells


def run_cell(source, name, names):
    """Executes a cell. Gives the value of the expression at its end, or None."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    return eval(compile(ast.Expression(last.value), name, "eval"), names) if last else None


def data_of(value):
    """A value as Jupyter shows it: a pair of MIME type and text."""
    for method, mime in (("_repr_svg_", "image/svg+xml"), ("_repr_html_", "text/html")):
        if hasattr(value, method):
            return mime, getattr(value, method)()
    return "text/plain", repr(value)


def work(folder):
    """Executes the cells that standard input gives as JSON; writes them with `printed` and `shown`."""
    os.chdir(folder)  # only now: what is on the module search path may be relative
    cells, out = json.load(sys.stdin), sys.stdout
    names = {"__name__": "__main__"}
    for cell in cells:
        if cell["kind"] != "code":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                value = run_cell(cell["source"], f"<cell of line {cell['line']}>", names)
                cell["shown"] = None if value is None else data_of(value)
            except Exception:
                sys.exit(f"line {cell['line']}: the cell failed\n{traceback.format_exc()}")
        cell["printed"] = printed.getvalue()
    json.dump(cells, out)


def execute(path):
    """Executes a tutorial in a process of its own. Gives its cells with what they print and show.

    Raises TutorialError when a cell fails, or when all of them take too long.
    """
    cells = json.dumps(cells_of(pathlib.Path(path).read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(pathlib.Path(__file__).resolve()), "work", folder]
        try:
            done = subprocess.run(
                command, input=cells, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            raise TutorialError(f"{path}: takes more than {TIME_LIMIT} seconds") from None
    if done.returncode:
        raise TutorialError(f"{path}: {done.stderr}")
    return json.loads(done.stdout)


def page(cells, name):
    """Markdown of an executed tutorial, with a link to its notebook NAME.ipynb."""
    parts = []
    for cell in cells:
        if cell["kind"] == "markdown":
            parts.append(cell["source"])
            continue
        parts.append(f"```python\n{cell['source']}\n```")
        if cell["printed"]:
            parts.append(f"```text\n{cell['printed'].rstrip()}\n```")
        if cell["shown"]:
            mime, text = cell["shown"]
            parts.append(f"```text\n{text}\n```" if mime == "text/plain" else f"<div>{text}</div>")
    parts.append(f'<p><a href="{name}.ipynb" download>This page as a notebook</a></p>')
    return "\n\n".join(parts) + "\n"


def notebook(cells):
    """The text of a notebook file of an executed tutorial."""
    made, count = [], 0
    for index, cell in enumerate(cells):
        made.append(
            {"cell_type": cell["kind"], "id": f"cell-{index}", "metadata": {}, "source": cell["source"]}
        )
        if cell["kind"] != "code":
            continue
        count += 1
        outputs = []
        if cell["printed"]:
            outputs.append({"output_type": "stream", "name": "stdout", "text": cell["printed"]})
        if cell["shown"]:
            mime, text = cell["shown"]
            result = {"output_type": "execute_result", "execution_count": count, "metadata": {}}
            outputs.append({**result, "data": {mime: text}})
        made[-1].update(execution_count=count, outputs=outputs)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("work", help=argparse.SUPPRESS).add_argument("folder")
    commands.add_parser("run").add_argument("pages", nargs="+")
    notebooks = commands.add_parser("notebooks")
    notebooks.add_argument("folder", type=pathlib.Path)
    notebooks.add_argument("pages", nargs="+")
    options = parser.parse_args()
    if options.command == "work":
        work(options.folder)
        return
    for path in options.pages:
        try:
            cells = execute(path)
        except TutorialError as error:
            sys.exit(f"tutorials: {error}")
        if options.command == "run":
            print(page(cells, pathlib.Path(path).stem))
        else:
            options.folder.mkdir(parents=True, exist_ok=True)
            (options.folder / f"{pathlib.Path(path).stem}.ipynb").write_text(
                notebook(cells), encoding="utf-8"
            )


if __name__ == "__main__":
    main()
