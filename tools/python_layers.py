"""The order of the rooms of python/headrace, and circles of imports.

A room is a module or a package right below python/headrace. It imports only from itself and from the rooms
before it in ROOMS, and no modules anywhere import each other in a circle. Import statements count wherever
they stand: one inside a function only hides a circle until it is called. What they import:

- `from . import x` and `from .x import name` import x where x is a module; a name of a package that is no
  module is a name of its `__init__`, and `from . import *` imports that, too;
- a module outside of a package that imports from it runs the package's `__init__` as well, and so imports
  it; a module inside does not, for the package is on its way already;
- the package headrace itself shows all rooms, so only rooms after "__init__" import it;
- imports below `if TYPE_CHECKING:` are for readers and do not count, nor does the compiled `_core`, nor what
  `importlib` loads by name for a package that shows a module when somebody asks for it.
"""

import ast
import pathlib
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

PACKAGE = pathlib.Path("python/headrace")
COMPILED = "headrace._core"
ROOMS = (
    # Errors, small helpers, and what tells of the compiled module without arrays.
    *(
        "base",
        "_lists",
        "error",
        "log",
        "registry",
        "libinfo",
        "_settings",
        "_shell",
        "runtime",
        "engine",
        "context",
        "_file",
    ),
    *(
        "recordio",
        "_rank",
        "_screen",
        "_processes",
        "_checkpoint_requests",
        "_elastic",
        "_ray",
        "_ports",
    ),
    *(
        "_schedulers",
        "_certificates",
        "_structure",
        "_thread_flag",
        "_shared_memory",
        "_semantics",
        "_signatures",
        "_generator",
        "_catalogue",
    ),
    # Looking at machines and at what ran on them.
    *("plan", "sim", "profiler", "timeline", "memory"),
    *("_job_folders", "_job_variables", "_job", "_launch_options", "launch"),
    # Arrays.
    *("ndarray", "numpy", "numpy_extension", "array_api", "_indexing", "_arrays", "random", "util"),
    # Graphs.
    *("attribute", "name", "_watching", "executor", "symbol", "autograd", "_custom", "operator"),
    # Measuring and looking inside, with arrays and graphs.
    *("hardware", "monitor", "visualization"),
    # Training.
    *("lr_scheduler", "optimizer", "initializer", "metric", "distributed", "kvstore", "_exchange"),
    *("io", "image", "im2rec", "gluon"),
    # MXNet's training before Gluon.
    *("_checkpoint", "callback", "module", "model"),
    # What programs written for MXNet need besides.
    *("__init__", "mxnet"),
)


class Module(NamedTuple):
    """A file of the package, by its dotted name."""

    name: str
    file: pathlib.Path

    @property
    def package(self) -> str:
        """What one dot means in its imports."""
        return self.name if self.file.name == "__init__.py" else self.name.rpartition(".")[0]

    @property
    def room(self) -> str:
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else "__init__"


Graph = Mapping[str, Mapping[str, int]]  # name of a module to what it imports, and in which line first


def module_of(file: pathlib.Path) -> Module:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), file)


def statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """All import statements but those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for other in node.orelse:
                yield from statements(ast.Module([other], []))
        else:
            yield from statements(node)


def targets(
    module: Module, statement: ast.Import | ast.ImportFrom, modules: Collection[str]
) -> Iterator[str]:
    """The dotted names that a statement imports, which may be no modules of ours."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    base = statement.module or ""
    if statement.level:
        start = module.package.split(".")[: 1 - statement.level or None]
        base = ".".join([*start, base] if base else start)
    for alias in statement.names:
        name = f"{base}.{alias.name}"
        yield name if name in modules or name == COMPILED else base


def with_packages(name: str) -> Iterator[str]:
    """A dotted name and those of the packages it is in, the innermost first."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def lies_in(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def imports_of(root: pathlib.Path, module: Module, modules: Collection[str]) -> dict[str, int]:
    """The modules of ours that a module imports, and the line in which it first does."""
    found: dict[str, int] = {}
    for statement in statements(ast.parse((root / module.file).read_text())):
        for name in targets(module, statement, modules):
            if lies_in(name, COMPILED):
                continue
            imported, *packages = [one for one in with_packages(name) if one in modules] or [module.name]
            for one in (imported, *(package for package in packages if not lies_in(module.name, package))):
                if one != module.name:
                    found.setdefault(one, statement.lineno)
    return found


def circles(graph: Graph) -> list[set[str]]:
    """The sets of modules that import each other, directly or by way of others (Tarjan's algorithm)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        stack.append(name)
        for other in graph[name]:
            if other not in numbers:
                visit(other)
            if other in stack:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == numbers[name]:
            place = stack.index(name)
            found.append(set(stack[place:]))
            del stack[place:]

    for name in graph:
        if name not in numbers:
            visit(name)
    return [circle for circle in found if len(circle) > 1]


def shortest_circle(graph: Graph, circle: set[str]) -> list[str]:
    """The modules of a shortest way around in `circle`; the last one imports the first."""
    best: list[str] = []
    for start in sorted(circle):
        ways = {start: [start]}
        for name in (queue := [start]):
            for other in graph[name]:
                if other == start and (not best or len(ways[name]) < len(best)):
                    best = ways[name]
                if other in circle and other not in ways:
                    ways[other] = [*ways[name], other]
                    queue.append(other)
    return best


def circle_problems(graph: Graph, modules: Mapping[str, Module]) -> Iterator[str]:
    for circle in circles(graph):
        way = shortest_circle(graph, circle)
        steps = zip(way, [*way[1:], way[0]])
        lines = [f"{modules[name].file}:{graph[name][other]}: imports {other}" for name, other in steps]
        yield "\n  ".join(
            [f"{PACKAGE}: a circle of {len(circle)} modules, {', '.join(sorted(circle))}", *lines]
        )


def order_problems(graph: Graph, modules: Mapping[str, Module], rooms: tuple[str, ...]) -> Iterator[str]:
    present = {module.room for module in modules.values()}
    for room in rooms:
        if room not in present:
            yield f"tools/python_layers.py: there is no {PACKAGE}/{room}: take it out of ROOMS"
    for room in sorted(present - set(rooms)):
        yield f"{PACKAGE}/{room}: not among the ROOMS of tools/python_layers.py"
    for name, imported in graph.items():
        here = modules[name].room
        lines: dict[str, int] = {}
        for other, line in imported.items():
            lines.setdefault(modules[other].room, line)
        for there, line in lines.items():
            if {here, there} <= set(rooms) and rooms.index(there) > rooms.index(here):
                yield f"{modules[name].file}:{line}: {here} lies below {there} and must not know it"


def problems(
    root: pathlib.Path,
    files: Collection[pathlib.Path],
    rooms: tuple[str, ...] = ROOMS,
) -> Iterator[str]:
    """What is wrong with the imports of `files`, paths below `root`, and with the lists."""
    modules = {module.name: module for module in map(module_of, files)}
    graph = {name: imports_of(root, module, modules) for name, module in modules.items()}
    yield from order_problems(graph, modules, rooms)
    yield from circle_problems(graph, modules)
