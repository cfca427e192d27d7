"""How Sphinx makes these pages: `./dev docs`, which puts the reference beside them first (tools/reference).

Tutorials are executed, and stop it where they fail.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tools"))
import tutorials  # noqa: E402

project = "Headrace"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Headrace"
html_show_copyright = False
exclude_patterns = ["requirements.txt"]
myst_heading_anchors = 3
toc_object_entries = False  # the reference has headings
python_maximum_signature_line_length = 100
suppress_warnings = ["myst.xref_missing"]  # links out of docs/, to files of the tree


def setup(app):
    executed = {}  # docname: cells with their outputs

    def execute(app, docname, source):
        if docname.startswith("tutorials/") and not docname.endswith("/README"):
            executed[docname] = tutorials.execute(app.env.doc2path(docname))
            source[0] = tutorials.page(executed[docname], docname.rpartition("/")[2])

    def write_notebooks(app, failure):
        for docname, cells in executed.items():
            if not failure:
                (pathlib.Path(app.outdir) / f"{docname}.ipynb").write_text(
                    tutorials.notebook(cells), encoding="utf-8"
                )

    app.connect("source-read", execute)
    app.connect("build-finished", write_notebooks)
