"""tools/python_layers.py sees every import, and names circles and rooms that know what lies above them."""

import pytest
import python_layers
import sources

ROOMS = ("base", "arrays", "blocks", "__init__", "programs")
GOOD = {
    "__init__.py": "from ._core import version\n",
    "base.py": "import os\nfrom . import _core\nfrom ._core.parts import part\n",
    "arrays/__init__.py": "from .. import base\nfrom .numbers import ones\nfrom . import numbers\n",
    "arrays/numbers.py": "from ..base import Error\nfrom .text import *\n",
    "arrays/text.py": "",
    "blocks.py": "import typing\nif typing.TYPE_CHECKING:\n    from .programs import Runner\n",
    "programs.py": "import headrace\nimport headrace.arrays.numbers\nfrom headrace import blocks\n",
}
CIRCLE = {
    "arrays/numbers.py": "from ..base import Error\n\n\ndef show(x):\n    from .text import text\n",
    "arrays/text.py": "from .numbers import ones\n",
}


@pytest.fixture
def problems_in(make_tree):
    """What is wrong with GOOD after some changes, as one text."""

    def check(changes, rooms=ROOMS, known=()):
        root = make_tree({f"python/headrace/{name}": text for name, text in {**GOOD, **changes}.items()})
        files = sources.list_sources(root, frozenset({".py"}))
        return "\n".join(python_layers.problems(root, files, rooms, known))

    return check


def test_accepts_the_design(problems_in):
    assert problems_in({}) == ""


def test_a_circle_is_named_with_its_lines_even_if_an_import_is_deferred(problems_in):
    assert problems_in(CIRCLE) == (
        "python/headrace: a circle of 2 modules, headrace.arrays.numbers, headrace.arrays.text\n"
        "  python/headrace/arrays/numbers.py:5: imports headrace.arrays.text\n"
        "  python/headrace/arrays/text.py:1: imports headrace.arrays.numbers"
    )


def test_the_shortest_way_around_stands_for_a_circle(problems_in):
    longer = {"arrays/a.py": "from . import b, c\n", "arrays/b.py": "from . import c\n"}
    problems = problems_in({**longer, "arrays/c.py": "from .a import x\n"})
    assert "a circle of 3 modules" in problems and problems.count("\n") == 2
    assert "arrays/a.py:1: imports headrace.arrays.c" in problems


@pytest.mark.parametrize(
    "statement",
    [
        "from . import *",
        "from . import ones",
        "from .. import arrays",
        "from headrace.arrays import ones",
        "import headrace.arrays",
        "import headrace.arrays as everything",
    ],
)
def test_a_module_that_imports_its_package_closes_a_circle(problems_in, statement):
    problems = problems_in({"arrays/text.py": statement + "\n"})
    assert (
        "a circle of" in problems and "arrays/text.py:1: imports headrace.arrays" in problems.splitlines()[-1]
    )


def test_an_import_from_outside_runs_the_package(problems_in):
    changes = {
        "arrays/__init__.py": "from .. import blocks\n",
        "blocks.py": "from .arrays.text import show\n",
    }
    problems = problems_in(changes)
    assert "a circle of 2 modules, headrace.arrays, headrace.blocks" in problems


def test_only_the_branch_for_type_checkers_is_exempt(problems_in):
    branch = "if TYPE_CHECKING:\n    import a\nelse:\n    from .programs import Runner\n"
    assert "blocks.py:4: blocks lies below programs" in problems_in({"blocks.py": branch})
    inverse = "if not TYPE_CHECKING:\n    from .programs import Runner\n"
    assert "blocks.py:2: blocks lies below programs" in problems_in({"blocks.py": inverse})


def test_a_room_knows_only_rooms_before_it(problems_in):
    assert problems_in({"base.py": "\n\ndef late():\n    from .arrays.text import show\n"}).startswith(
        "python/headrace/base.py:4: base lies below arrays and must not know it"
    )
    problems = problems_in({"blocks.py": "from . import np\n"})
    assert problems == "python/headrace/blocks.py:1: blocks lies below __init__ and must not know it"


def test_rooms_and_their_list_agree(problems_in):
    assert "there is no python/headrace/kites" in problems_in({}, rooms=(*ROOMS, "kites"))
    assert "python/headrace/extra: not among the ROOMS" in problems_in({"extra.py": ""})


def test_a_known_circle_is_passed_over_until_it_is_open(problems_in):
    known = (frozenset({"arrays"}),)
    assert problems_in(CIRCLE, known=known) == ""
    assert problems_in({name: GOOD[name] for name in CIRCLE}, known=known) == (
        "tools/python_layers.py: no circle in arrays: take it out of KNOWN_CIRCLES"
    )
