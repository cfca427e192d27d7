"""tools/check_names.py finds names that two files of a folder have in anonymous namespaces."""

import check_names
import pytest


def anonymous(text: str) -> str:
    return f"namespace a {{\nnamespace {{\n\n{text}\n\n}}  // namespace\n}}  // namespace a\n"


@pytest.mark.parametrize(
    "text",
    [
        "int name(int x) {\n  return other(x);\n}",
        "template <class T>\nstd::vector<T> name(const T& x) { return {x}; }",
        "[[noreturn]] void name() { fail(); }",
        "const OpDef& name() {\n  static const OpDef& op = find(1);\n  return op;\n}",
        "constexpr double name = 0.1;",
        'constexpr const char* name[] = {"other(", "one"};',
        "struct name {\n  int other = 1;\n};",
        "class name : public Other {\n public:\n  name();\n};",
        "enum class name { kOne };",
        "using name = std::vector<int>;",
        "auto name(int x) -> Other {\n  return Other(x);\n}",
    ],
)
def test_finds_the_one_name(text):
    assert [name.name for name in check_names.anonymous_names(anonymous(text))] == ["name"]


@pytest.mark.parametrize(
    "text",
    [
        "namespace a {\n\nint f() { return 1; }\n\n}  // namespace a\n",
        anonymous("// int f() in a comment"),
        anonymous("using namespace b;"),
        anonymous("TEST(Name, IsFound) {\n  int x = 1;\n}"),
        anonymous('const char kText[] = R"(\nint f() {\n)";').replace("const char kText[] =", "  "),
    ],
)
def test_finds_nothing_else(text):
    assert not list(check_names.anonymous_names(text))


FUNCTION = anonymous("int f() { return 1; }")


@pytest.mark.parametrize(
    ("files", "problems"),
    [
        ({"src/b/x.cc": FUNCTION, "src/b/y.cc": FUNCTION}, 1),
        ({"python/src/x.cc": FUNCTION, "python/src/y.cc": anonymous("struct f {};")}, 1),
        ({"tests/b/x_test.cc": FUNCTION, "tests/b/y_test.cc": FUNCTION}, 1),
        ({"tests/b/x.cc": FUNCTION, "tests/b/y.cc": FUNCTION}, 0),
        ({"src/b/x.cc": FUNCTION, "src/c/y.cc": FUNCTION}, 0),
        ({"src/b/x.cc": FUNCTION, "src/b/y_cpu.cc": FUNCTION}, 0),
        ({"src/b/x.cc": FUNCTION, "src/b/y.cc": '#include "hwy/foreach_target.h"\n' + FUNCTION}, 0),
        ({"src/b/x.cc": anonymous("using A = int;"), "src/b/y.cc": anonymous("using A = int;")}, 0),
        ({"src/b/x.cc": anonymous("using A = int;"), "src/b/y.cc": anonymous("using A = char;")}, 1),
    ],
)
def test_names_differ_within_a_folder(make_tree, capsys, files, problems):
    assert check_names.main([str(make_tree(files))]) == (1 if problems else 0)
    assert f" {problems} problems" in capsys.readouterr().out


def test_says_where_and_what(make_tree, capsys):
    check_names.main([str(make_tree({"src/b/x.cc": FUNCTION, "src/b/y.cc": "\n" + FUNCTION}))])
    assert "src/b/x.cc:4: f is a name in src/b/y.cc:5, too" in capsys.readouterr().out
