"""tools/check_size.py finds functions in C++ and Python and measures them."""

import check_size
import pytest


def lengths(text: str) -> list[tuple[int, int]]:
    return [(function.line, function.lines) for function in check_size.cpp_functions(text)]


@pytest.mark.parametrize(
    "text",
    [
        "namespace a {\nint f() {\n  return 1;\n}\n}\n",
        "struct alignas(64) Task {\nint f() const noexcept {\n  return 1;\n}\nint g;\n};\n",
        "class A : public B {\nA(int x) : x_{x}, y_(1) {\n  g();\n}\n};\n",
        "template <class T>\nauto f(T x) -> int {\n  return 1;\n}\n",
        "enum class A { kB };\nvoid f() {\n  if (x) { y(); }\n}\n",
        "\nTEST(Engine, Runs) {\n  EXPECT_EQ(1, 1);\n}\n",
        "const OpDef kOp = {\n.run = [](int x) {\n  return 1;\n}};\n",
        "const char* a = \"{(\";\nint f() {  // }\n  return '{' + 1'000;\n}\n",
        '#define A(x) {\nconst char* f() {\n  return R"(})";\n}\n',
    ],
)
def test_finds_the_one_function(text):
    assert lengths(text) == [(2, 3)]


def test_a_lambda_counts_as_lines_of_its_function():
    assert lengths("int f() {\n  auto g = [] {\n    return 1;\n  };\n  return g();\n}\n") == [(1, 6)]


@pytest.mark.parametrize(
    "text", ["struct A {\n  int b[2] = {1, 2};\n};\n", "enum A { kB = (1) };\n", "B c{f(1)};\n"]
)
def test_data_is_no_function(text):
    assert lengths(text) == []


def body(lines: int) -> str:
    return "  g();\n" * lines


def test_limits(make_tree, capsys):
    small = {"src/a.cc": "void f() {\n" + body(58) + "}\n", "b.py": "x = 1\n" * 600}
    assert check_size.main([str(make_tree(small))]) == 0
    large = {"src/a.cc": "void f() {\n" + body(59) + "}\n", "b.py": "x = 1\n" * 601}
    assert check_size.main([str(make_tree(large))]) == 1
    output = capsys.readouterr().out
    assert "src/a.cc:1: 61 lines in one function" in output
    assert "b.py: 601 lines" in output


def test_measures_python_functions(make_tree, capsys):
    text = "class A:\n    def f(self):\n" + "        x = 1\n" * 60
    assert check_size.main([str(make_tree({"a.py": text}))]) == 1
    assert "a.py:2: 61 lines in one function, at most 60: f" in capsys.readouterr().out
