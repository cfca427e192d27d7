"""Every page of the documentation can be reached from its start page."""

import pathlib
import re

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def test_every_page_is_listed():
    listed = set(
        re.findall(r"^   ([\w/-]+)$", (DOCS / "index.rst").read_text(encoding="utf-8"), re.MULTILINE)
    )
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(pages - listed) == []
