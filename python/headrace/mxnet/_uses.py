"""Which names of MXNet a Python source uses, read from its text: nothing is imported or run."""

from __future__ import annotations

import ast
import json
import pathlib
import re
from typing import NamedTuple

from ._names import names_of

_F = "mxnet.symbol"  # what a hybridized block gets for F
_FOR_NOTEBOOKS = re.compile(r"(\s*)[%!?]")  # a line of a cell that is no Python


class Use(NamedTuple):
    """A path that begins with `mxnet`, and the line where it stands."""

    path: str
    line: int


def uses_in(path: pathlib.Path) -> list[Use]:
    """The uses in a Python file or a notebook, in order. Raises SyntaxError for what is no Python."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".ipynb":
        text = _code_of_notebook(text, path)
    finder = _Finder()
    finder.visit(ast.parse(text, str(path)))
    return sorted(set(finder.uses), key=lambda use: (use.line, use.path))


def _code_of_notebook(text: str, path: pathlib.Path) -> str:
    """The cells of code one below the other, without the lines that are for the notebook."""
    try:
        cells = json.loads(text)["cells"]
    except (ValueError, KeyError, TypeError) as error:
        raise SyntaxError(f"{path} is no notebook: {error}") from None
    lines: list[str] = []
    for cell in cells:
        if cell.get("cell_type") == "code":
            lines += "".join(cell.get("source", "")).splitlines()
    return "\n".join(f"{found[1]}pass" if (found := _FOR_NOTEBOOKS.match(line)) else line for line in lines)


class _Finder(ast.NodeVisitor):
    """Follows what names stand for through imports, assignments, functions and classes."""

    def __init__(self) -> None:
        self.uses: list[Use] = []
        self._scopes: list[dict[str, str]] = [{}]  # name to path; to "": nothing of MXNet's
        self._starred: set[str] = set()  # paths of names that came with `import *`

    # --- what names stand for ---

    def _bind(self, name: str, path: str = "") -> None:
        self._scopes[-1][name] = path

    def _path_of(self, node: ast.AST) -> str:
        """What a name, or a chain of attributes that begins with one, stands for."""
        if isinstance(node, ast.Name):
            return next((scope[node.id] for scope in reversed(self._scopes) if node.id in scope), "")
        if isinstance(node, ast.Attribute):
            path = self._path_of(node.value)
            return path and f"{path}.{node.attr}"
        return ""

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            if top != "mxnet":
                self._bind(alias.asname or top)
                continue
            self._bind(alias.asname or top, alias.name if alias.asname else top)
            self._use(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        is_ours = node.level == 0 and module.partition(".")[0] == "mxnet"
        for alias in node.names:
            if alias.name == "*":
                self._use(module if is_ours else "", node)
                for name in names_of(module) if is_ours else ():
                    self._bind(name, f"{module}.{name}")
                    self._starred.add(f"{module}.{name}")
                continue
            path = f"{module}.{alias.name}" if is_ours else ""
            self._bind(alias.asname or alias.name, path)
            self._use(path, node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._bind(target.id, self._path_of(node.value))
            else:
                self.visit(target)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bind(node.id)
        elif self._path_of(node) in self._starred:
            self._use(self._path_of(node), node)

    # --- scopes ---

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        is_named = not isinstance(node, ast.Lambda)
        for outside in [
            *(node.decorator_list if is_named else []),
            *node.args.defaults,
            *node.args.kw_defaults,
        ]:
            if outside is not None:
                self.visit(outside)
        if is_named:
            self._bind(node.name)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = [one.arg for one in (*arguments, node.args.vararg, node.args.kwarg) if one]
        self._scopes.append(dict.fromkeys(names, ""))
        if names[1:2] == ["F"]:
            self._bind("F", _F)
        for statement in node.body if is_named else [node.body]:
            self.visit(statement)
        self._scopes.pop()

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for outside in [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]:
            self.visit(outside)
        self._scopes.append({})
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()
        self._bind(node.name)

    # --- uses ---

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._path_of(node)
        if path:
            self._use(path, node)
        else:
            self.visit(node.value)

    def _use(self, path: str, node: ast.AST) -> None:
        if path:
            self.uses.append(Use(path, node.lineno))
