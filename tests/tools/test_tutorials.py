"""tools/tutorials.py: cells are executed in order, their outputs kept, and an error stops it."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "tools" / "tutorials.py"
PAGE = """# A page

```python
class Picture:
    def _repr_html_(self):
        return "<b>page</b>"


print("printed")
x = 2
```

Words.

```python
x + 1
```

```python
Picture()
```
"""

spec = importlib.util.spec_from_file_location("tutorials", SCRIPT)
tutorials = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tutorials)


def written(folder, text):
    path = folder / "page.md"
    path.write_text(text)
    return path


def test_cells_share_names_and_keep_their_outputs(tmp_path):
    cells = tutorials.execute(written(tmp_path, PAGE))
    assert [cell["kind"] for cell in cells] == ["markdown", "code", "markdown", "code", "code"]
    code = [(cell["printed"], cell["shown"]) for cell in cells if cell["kind"] == "code"]
    assert code == [("printed\n", None), ("", ["text/plain", "3"]), ("", ["text/html", "<b>page</b>"])]
    page = tutorials.page(cells, "name")
    assert "```text\n3\n```" in page and "<b>page</b>" in page and 'href="name.ipynb"' in page


def test_notebooks_are_notebooks(tmp_path):
    notebook = json.loads(tutorials.notebook(tutorials.execute(written(tmp_path, PAGE))))
    assert [cell["cell_type"] for cell in notebook["cells"]] == [
        "markdown",
        "code",
        "markdown",
        "code",
        "code",
    ]
    assert notebook["cells"][1]["outputs"] == [
        {"output_type": "stream", "name": "stdout", "text": "printed\n"}
    ]
    assert notebook["cells"][4]["outputs"][0]["data"] == {"text/html": "<b>page</b>"}
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.from_dict(notebook))


def test_an_error_stops_and_names_its_line(tmp_path):
    path = written(tmp_path, PAGE.replace("x + 1", "x + y"))
    command = [sys.executable, str(SCRIPT), "run", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "page.md: line 16: the cell failed" in done.stderr and "NameError" in done.stderr


def test_a_tutorial_may_not_take_forever(tmp_path, monkeypatch):
    monkeypatch.setattr(tutorials, "TIME_LIMIT", 1)
    with pytest.raises(tutorials.TutorialError, match="more than 1 seconds"):
        tutorials.execute(written(tmp_path, PAGE.replace("x + 1", "import time; time.sleep(60)")))
