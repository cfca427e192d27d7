"""tools/reference finds what C++ headers declare, and writes comments and docstrings as Markdown."""

import pytest
from reference import headers, prose

HEADER = """\
// Boxes. Any thread.
#pragma once

#include <vector>

namespace headrace::boxes {

class Other;

// Holds numbers; `size` says how many.
class Box : public Base {
 public:
  Box() = default;
  explicit Box(int size) : size_{size}, a_(1) { fill(); }
  int size() const noexcept { return size_; }  // of numbers
  template <class T>
  void put(T value);

 private:
  int size_ = 0;
};

// The sum, and
// the product.
int sum(const Box& box, int from = 0);
inline int product(const Box& box) {
  return box.size();
}

inline constexpr int kMost = 1 << 3;
using Boxes = std::vector<Box>;

template <class T>
void Box::put(T value) {}

namespace boxes_detail {
int hidden();
}

}  // namespace headrace::boxes
"""
BOX = """\
class Box : public Base {
 public:
  Box() = default;
  explicit Box(int size);
  int size() const noexcept;  // of numbers
  template <class T>
  void put(T value);
};"""


@pytest.fixture
def found():
    return {one.name: one for one in headers.declarations(HEADER)}


def test_finds_what_a_header_shows(found):
    assert list(found) == ["Box", "sum", "product", "kMost", "Boxes"]
    assert all(one.namespace == "boxes" for one in found.values())


def test_shows_neither_bodies_nor_what_is_private(found):
    assert found["Box"].code == BOX
    assert found["product"].code == "inline int product(const Box& box);"


def test_neighbours_share_a_comment(found):
    assert found["Box"].comment == "Holds numbers; `size` says how many."
    assert found["sum"].comment == "The sum, and\nthe product."
    assert found["product"].continues and not found["kMost"].continues


def test_a_page_has_a_heading_for_each_group():
    page = headers.page("headrace/boxes.hpp", HEADER)
    assert page.startswith(
        "# headrace/boxes.hpp\n\n```cpp\n#include <headrace/boxes.hpp>\n```\n\nBoxes. Any thread."
    )
    assert "## boxes::sum, boxes::product\n\nThe sum, and\nthe product." in page


def test_functions_of_operators_by_name():
    function = "inline NDArray exp(const NDArray& x) {\n  return f(x);\n}"
    text = f"#pragma once\nnamespace headrace::nd {{\n{function}\n\n}}\n"
    assert headers.operator_functions(text) == {"nd::exp": "NDArray nd::exp(const NDArray& x);"}


DOCSTRING = """Sums *all* of `a_b`.

Parameters
----------
axis : int or None
    the axis.
keys : of the gradients, in the
    order of stores.

Examples
--------
>>> f(1)
2

>>> f(2)
3
"""


def test_docstrings_become_markdown():
    assert prose.markdown(DOCSTRING) == (
        "Sums \\*all\\* of `a_b`.\n\n**Parameters**\n\n- `axis`: int or None. the axis.\n"
        "- `keys`: of the gradients, in the order of stores.\n\n```pycon\n>>> f(1)\n2\n\n>>> f(2)\n3\n```"
    )


def test_indented_paragraphs_are_code():
    assert (
        prose.markdown("As in\n\n  int x;\n\n    int y;", "cpp") == "As in\n\n```cpp\nint x;\n\n  int y;\n```"
    )


def test_indented_paragraphs_without_statements_are_output():
    assert prose.markdown("It writes\n\n  <NDArray 2 @cpu(0)>", "cpp") == (
        "It writes\n\n```text\n<NDArray 2 @cpu(0)>\n```"
    )
