"""tools/compile_examples.py, with a compiler that only tells what it is given."""

import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).parents[2] / "tools" / "compile_examples.py"
COMPILER = "import sys; text = sys.stdin.read(); print(text.splitlines()[0]); sys.exit('#error' in text)"
PAGE = """Words.

```cpp
int part_of_a_file;
```

```cpp
#include <vector>
```
"""


def run(folder, text):
    page = folder / "page.md"
    page.write_text(text)
    command = [sys.executable, str(SCRIPT), str(page), sys.executable, "-c", COMPILER]
    return subprocess.run(command, capture_output=True, text=True)


def test_whole_files_are_compiled_under_their_lines(tmp_path):
    done = run(tmp_path, PAGE)
    assert done.returncode == 0 and f'#line 8 "{tmp_path / "page.md"}"' in done.stdout
    assert "1 examples" in done.stdout


def test_an_example_that_does_not_compile_fails(tmp_path):
    assert run(tmp_path, PAGE.replace("<vector>", "<vector>\n#error")).returncode == 1


def test_a_page_without_examples_fails(tmp_path):
    done = run(tmp_path, PAGE.replace("#include", "int"))
    assert done.returncode == 1 and "no example" in done.stderr
