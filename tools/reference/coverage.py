"""The page that says which public names of MXNet 1.9.1 are there, are something else, or are missing."""

from collections import Counter

from headrace import mxnet
from headrace.libinfo import __version__ as MXNET_VERSION
from headrace.mxnet._check import Finding, findings_in
from headrace.mxnet._names import public_names
from headrace.mxnet._uses import Use

from . import prose


def findings() -> dict[str, dict[str, Finding]]:
    """What there is to say of each name, by module and name. Makes `import mxnet` mean Headrace."""
    mxnet.install()
    return {
        module: {name: findings_in([Use(f"{module}.{name}", 0)])[0] for name in sorted(names)}
        for module, names in sorted(public_names().items())
    }


def page() -> str:
    found = findings()
    counts = {module: Counter(one.kind for one in names.values()) for module, names in found.items()}
    rows = [_row(f"`{module}`", count) for module, count in counts.items()]
    rows.append(_row("**all**", sum(counts.values(), Counter())))
    table = "\n".join(["| module | there | with a difference | missing |", "|---|---|---|---|", *rows])
    missing = [f"`{module}.{name}`" for module, names in found.items() for name in _of_kind(names, "missing")]
    parts = [
        f"# Coverage of MXNet {MXNET_VERSION}",
        INTRODUCTION,
        table,
        "## Missing",
        ", ".join(missing) or "None.",
        "[Differences](../differences.md) says why, and what to use instead.",
        "## With a difference",
        *(_differences(module, names) for module, names in found.items() if _of_kind(names, "differs")),
    ]
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """\
Every public name of MXNet's modules, looked up in Headrace when this page was made. *There* means found,
*with a difference* that [Differences](../differences.md) has a sentence about it.
`python -m headrace.mxnet --check program.py` says the same of the names that a program uses."""


def _of_kind(names: dict[str, Finding], kind: str) -> list[str]:
    return [name for name, one in names.items() if one.kind == kind]


def _row(title: str, count: Counter[str]) -> str:
    there, differs, missing = (count[kind] for kind in ("there", "differs", "missing"))
    return f"| {title} | {there + differs} | {differs or ''} | {missing or ''} |"


def _differences(module: str, names: dict[str, Finding]) -> str:
    items = [
        f"- `{name}`: {prose.escaped(names[name].text.partition(': ')[2])}"
        for name in _of_kind(names, "differs")
    ]
    return "\n".join([f"### {prose.escaped(module)}\n", *items])
