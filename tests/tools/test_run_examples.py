"""tools/run_examples.py, with the compiler of C++."""

import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "tools" / "run_examples.py"
PAGE = """Words.

```cpp
#include <cstdio>
int main() { std::puts("one\\ntwo\\nthree"); }
```

Prints

```text
one
```
"""

pytestmark = pytest.mark.skipif(not shutil.which("c++"), reason="there is no C++ compiler")


def run(folder, text):
    page = folder / "page.md"
    page.write_text(text)
    command = [sys.executable, str(SCRIPT), str(page), "c++", "-std=c++20"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def said(text):
    """The page with this text right behind its program."""
    return PAGE.replace("Prints\n\n", "").replace("one\n```", f"{text}\n```")


def test_programs_run_and_print_what_the_page_says(tmp_path):
    for text in (PAGE, said("one\ntwo\nthree"), said("one\n...\nthree"), said("...")):
        done = run(tmp_path, text)
        assert done.returncode == 0, done.stderr
        assert "1 programs" in done.stdout


def test_other_output_fails(tmp_path):
    done = run(tmp_path, said("one\ntwo"))
    assert done.returncode == 1 and "page.md:4: the program prints" in done.stderr


def test_a_program_that_fails(tmp_path):
    done = run(tmp_path, PAGE.replace("int main() { ", "int main() { return 3; "))
    assert done.returncode == 1 and "ends with status 3" in done.stderr


def test_a_program_that_does_not_compile(tmp_path):
    done = run(tmp_path, PAGE.replace("int main", "integer main"))
    assert done.returncode == 1 and "page.md:5:" in done.stderr and "does not compile" in done.stderr


def test_a_page_without_programs(tmp_path):
    assert "has no program" in run(tmp_path, "Words.").stderr
