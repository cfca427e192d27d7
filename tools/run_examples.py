"""Compiles and runs the C++ programs of a page, as somebody who pastes them would.

    run_examples.py PAGE.md COMPILER [ARGUMENT...]

Every ```cpp block of the page is a program, and ends with status 0. A ```text block that follows is what
it prints; a line `...` in there stands for any lines. The programs run one after another in one folder, so
one reads the files of another. Arguments go to the compiler behind the source: libraries, too.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = re.compile(r"^```cpp\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


def programs(page):
    """Triples of the line where a program begins, the program, and what it prints or None."""
    text = pathlib.Path(page).read_text(encoding="utf-8")
    for found in PROGRAM.finditer(text):
        yield text.count("\n", 0, found.start(1)) + 1, found[1], found[2]


def matches(wanted, printed):
    """Whether the text is the wanted one, in which a line `...` stands for any lines."""
    parts = re.split(r"^\.\.\.\n", wanted, flags=re.MULTILINE)
    return re.fullmatch("(?:.*\n)*".join(map(re.escape, parts)), printed) is not None


def run(page, line, program, wanted, compiler, folder):
    """Compiles and runs one program. Gives what is wrong with it, or None."""
    binary = str(pathlib.Path(folder) / f"program{line}")
    command = [compiler[0], "-x", "c++", "-", "-o", binary, "-x", "none", *compiler[1:]]
    source = f'#line {line} "{page}"\n{program}'
    if subprocess.run(command, input=source, text=True, check=False).returncode:
        return "does not compile"
    done = subprocess.run([binary], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        return f"ends with status {done.returncode}:\n{done.stdout}{done.stderr}"
    if wanted is not None and not matches(wanted, done.stdout):
        return f"prints\n{done.stdout}\nand the page says\n{wanted}"
    return None


def main():
    page, *compiler = sys.argv[1:]
    found = list(programs(page))
    if not found:
        sys.exit(f"run_examples: {page} has no program")
    with tempfile.TemporaryDirectory() as folder:
        for line, program, wanted in found:
            if problem := run(page, line, program, wanted, compiler, folder):
                sys.exit(f"{page}:{line}: the program {problem}")
    print(f"run_examples: {len(found)} programs of {page} run")


if __name__ == "__main__":
    main()
