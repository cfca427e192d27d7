"""Pages of operators: one for each family, with a heading for each operator."""

import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from . import prose
from .examples import METHODS, example_of, found_at, own_paths
from .modules import signature

FAMILIES = pathlib.Path("src/ops/families.h")
MANY = 40  # operators on a page; folders with more get a page for each family


def families(root: pathlib.Path) -> list[tuple[str, str]]:
    """Folder and name of each family, in the order in which the catalogue numbers them."""
    text = (root / FAMILIES).read_text(encoding="utf-8")
    folders: dict[str, str] = {}
    folder = ""
    for line in text.splitlines():
        if found := re.match(r"// (\w+)/$", line):
            folder = found[1]
        elif found := re.match(r"Operators (\w+)\(\);", line):
            folders[found[1]] = folder
    listed = text.partition("kFamilies[] = {")[2].partition("}")[0]
    return [(folders[name], name.removesuffix("_operators")) for name in re.findall(r"\w+", listed)]


def public_operators() -> list[dict[str, Any]]:
    """Descriptions of the operators that have a function or a method of their own."""
    from headrace._catalogue import operator_descriptions

    return [op for op in operator_descriptions().values() if own_paths(op)]


def title_of(op: dict[str, Any]) -> str:
    """The name by which users know an operator."""
    return own_paths(op)[0].rpartition(".")[2]


def pages(root: pathlib.Path, cpp: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Name and text of each page, and of the list of them; `cpp` has declarations by name (`nd::softmax`).

    Raises NoExample for an operator without one.
    """
    by_folder: dict[str, list[dict[str, Any]]] = {}
    numbered = families(root)
    for op in public_operators():
        by_folder.setdefault(numbered[op["family"]][0], []).append(op)
    listed = []
    for folder, ops in sorted(by_folder.items()):
        parts = {folder: ops}
        if len(ops) > MANY:
            parts = {}
            for op in ops:
                parts.setdefault(f"{folder}-{numbered[op['family']][1].replace('_', '-')}", []).append(op)
        for name, members in sorted(parts.items()):
            listed.append(f"operators/{name}")
            yield listed[-1], page(heading(name), members, cpp)
    toctree = prose.fenced("{toctree}", ":maxdepth: 2\n\n" + "\n".join(listed))
    yield "operators", f"# Reference of operators\n\n{INTRODUCTION}\n\n{toctree}\n"


INTRODUCTION = """\
Every operator is a function on nd arrays (`nd`), on np arrays (`np`, `npx`), or on both, on symbols by the
same name (`sym`), and in C++. Examples are made from the samples in the operators' definitions, and are run
whenever these pages are made."""


def heading(name: str) -> str:
    folder, _, family = name.partition("-")
    words = f"{folder}: {family.replace('-', ' ')}" if family else folder
    return words[0].upper() + words[1:]


def page(title: str, ops: list[dict[str, Any]], cpp: Mapping[str, str]) -> str:
    sections = [section(op, cpp) for op in sorted(ops, key=lambda op: title_of(op).lower())]
    return "\n\n".join([f"# {title}", *sections]) + "\n"


def section(op: dict[str, Any], cpp: Mapping[str, str]) -> str:
    parts = [prose.markdown(found_at(own_paths(op)[0]).__doc__), *_facts(op)]
    declarations = "\n".join(cpp[name] for name in _cpp_names(op) if name in cpp)
    if declarations:
        parts.append(prose.fenced("cpp", declarations))
    parts.append(prose.fenced("pycon", example_of(op).text()))
    functions = [path for path in own_paths(op) if path.split(".")[0] not in METHODS]
    body = "\n\n".join(parts)
    if not functions:
        return f"## {title_of(op)}\n\n{body}"
    heads = [f"````{{py:function}} headrace.{path}{signature(found_at(path))}" for path in functions]
    return (
        "\n````\n".join([f"## {prose.escaped(title_of(op))}\n\n{heads[0]}", *heads[1:]]) + f"\n\n{body}\n````"
    )


def _facts(op: dict[str, Any]) -> Iterator[str]:
    paths = own_paths(op)
    symbols = [f"sym.{path.partition('.')[2]}" for path in paths if path.startswith("nd.")]
    names = ", ".join(f"`{path}`" for path in [*paths, *symbols])
    aliases = ", ".join(f"`{name}`" for name in [op["name"], *op["aliases"]])
    yield f"**Names:** {names}; in symbol files {aliases}."
    if op["is_view"]:
        yield "The result shares memory with the array."
    if op["zero_gradient"]:
        yield "The gradient is zero."
    elif not op["differentiable"] and not op["is_composed"]:
        yield "There is no gradient."


def _cpp_names(op: dict[str, Any]) -> list[str]:
    return [path.replace(".", "::") for path in op["python"] if path.split(".")[0] not in METHODS]
