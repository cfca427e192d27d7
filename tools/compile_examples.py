"""Compiles the C++ examples of a page that are whole files: those that include something.

    compile_examples.py PAGE.md COMPILER [ARGUMENT...]

Nothing is written. The exit status is that of the first compilation that fails, with the page's line numbers.
"""

import re
import subprocess
import sys


def examples(text):
    """Pairs of the line where an example begins and the example."""
    for found in re.finditer(r"^```cpp\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if "#include" in found[1]:
            yield text.count("\n", 0, found.start(1)) + 1, found[1]


def main():
    page, *compiler = sys.argv[1:]
    with open(page) as file:
        found = list(examples(file.read()))
    if not found:
        sys.exit(f"compile_examples: {page} has no example that is a whole file")
    for line, text in found:
        source = f'#line {line} "{page}"\n{text}'
        command = [*compiler, "-fsyntax-only", "-x", "c++", "-"]
        if status := subprocess.run(command, input=source, text=True).returncode:
            sys.exit(status)
    print(f"compile_examples: {len(found)} examples of {page} compile")


if __name__ == "__main__":
    main()
