"""The page of the environment variables that the library reads."""

from headrace.runtime import settings

from . import prose

INTRODUCTION = """\
Read once, when the package is imported or a C++ program first needs one; an empty text is as good as none.
[Settings](../settings.md) says which one helps with what, `python -m headrace.runtime` what is set.
Jobs of several processes have [more](../distributed.md#starting)."""


def page() -> str:
    rows = [
        f"| `{one.name}` | {f'`{one.default}`' if one.default else ''} | {prose.escaped(one.meaning)} |"
        for one in settings()
    ]
    table = "\n".join(["| variable | default | meaning |", "|---|---|---|", *rows])
    return "\n\n".join(["# Environment variables", INTRODUCTION, table]) + "\n"
