"""Docstrings and comments as Markdown: paragraphs, lists, code, sessions of Python, sections."""

import itertools
import re
import textwrap

SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
# A name, what is said behind it, and indented lines.
ENTRY = re.compile(r"^(\S.*?)(?: : (.*))?\n((?: .*\n)*)", re.MULTILINE)
TYPE_END = re.compile(r"(?:None|int|float|bool|str|dtype|ints|floats|\d|\w\|\w+)$")
STATEMENT = re.compile(r"[;{]|//")
CODE = re.compile(r"(``.*?``|`[^`]*`)", re.DOTALL)


def markdown(text: str, language: str = "text") -> str:
    """A docstring or comment, without its margin, as Markdown that says the same: only code is markup.

    Indented paragraphs with a statement or block are code in `language`, others what a program prints.
    """
    first, *rest = SECTION.split(text)
    parts = [_body(first, language)]
    for title, body in zip(rest[::2], rest[1::2]):
        parts.append(_body(body) if title == "Examples" else _section(title, body))
    return "\n\n".join(part for part in parts if part)


def escaped(text: str) -> str:
    """Text as it stands, but for its spans of code."""
    spans = CODE.split(text)
    spans[::2] = [re.sub(r"([\\*_<\[\]|#~])", r"\\\1", one) for one in spans[::2]]
    return "".join(spans)


def _body(text: str, language: str = "text") -> str:
    """Paragraphs: sessions and indented ones are code, others prose."""
    parts: list[tuple[str, str]] = []  # kind and text
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        before, prompt, session = paragraph.partition(">>> ")
        indent = re.search(r"[^\n]*$", before)[0]
        if before.strip() and (prompt or not before.startswith("  ")):
            parts.append(("", before.rstrip()))
        if prompt:
            parts.append(("pycon", indent + prompt + session))
        elif before.startswith("  "):
            parts.append((language if STATEMENT.search(before) else "text", before))
    texts = []
    for kind, group in itertools.groupby(parts, key=lambda part: part[0]):
        joined = "\n\n".join(one for _, one in group)
        texts.append(fenced(kind, textwrap.dedent(joined)) if kind else escaped(joined))
    return "\n\n".join(texts)


def fenced(language: str, code: str) -> str:
    return f"```{language}\n{code}\n```"


def _section(title: str, body: str) -> str:
    """A section: paragraphs of entries as lists, others as they are."""
    parts = [f"**{title}**"]
    for paragraph in re.split(r"\n\s*\n", body.strip("\n")):
        first, _, second = paragraph.partition("\n")
        is_entries = " : " in first or second.startswith("    ")
        parts.append(
            "\n".join(map(_item, ENTRY.findall(paragraph + "\n"))) if is_entries else _body(paragraph)
        )
    return "\n\n".join(parts)


def _item(entry: tuple[str, str, str]) -> str:
    name, about, lines = entry
    description = " ".join(lines.split())
    is_sentence = about and (TYPE_END.search(about) or description[:1].isupper() and about[-1] not in ".;:,")
    text = (". " if is_sentence else " ").join(filter(None, [about, description]))
    return f"- `{name}`" + (f": {escaped(text)}" if text else "")
