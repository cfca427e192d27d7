"""`python -m headrace.mxnet`: runs a Python program with `import mxnet` resolved to Headrace."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import types
from typing import NamedTuple, NoReturn

from headrace._shell import run_command
from headrace.mxnet import _alias, install

USAGE = """\
usage: python -m headrace.mxnet [--timeline FILE] (PROGRAM.py | -m MODULE | -c CODE | -) [ARGUMENT...]
       python -m headrace.mxnet --check (FILE | FOLDER)...

Runs a Python program with `import mxnet` resolved to Headrace. Like python itself it
sets sys.argv and sys.path, and ends with the exit status of the program.

  PROGRAM.py        a file, or a folder or zip file with a __main__.py
  -m MODULE         a module of sys.path
  -c CODE           a program given as text
  -                 a program read from standard input
  --timeline FILE   write what the engine did, and when, as a Chrome trace
  --check           run nothing: list the names of MXNet that programs and notebooks use and that are
                    missing here, or differ. The exit status is 1 when something is missing
  --version         print the versions of Headrace and of the MXNet it stands for
  -h, --help        print this text
"""


class Program(NamedTuple):
    """What to execute, and what it finds in sys.argv[0], in sys.path[0] and in its own module."""

    code: types.CodeType
    argv0: str
    path0: str | None
    attributes: dict[str, object]


def main(arguments: list[str]) -> None:
    timeline = None
    while arguments and arguments[0].startswith("-") and arguments[0] not in ("-", "-m", "-c"):
        option, *arguments = arguments
        if option in ("-h", "--help"):
            run_command(_show, USAGE.rstrip())
        if option == "--version":
            import headrace

            run_command(_show, f"Headrace {headrace.__version__}, as MXNet {_alias.MXNET_VERSION}")
        if option == "--check":
            run_command(_checked, arguments)
        if option == "--timeline":
            if not arguments:
                _usage_error("--timeline needs the name of a file")
            timeline, *arguments = arguments
        elif option.startswith("--timeline="):
            timeline = option.partition("=")[2]
        else:
            _usage_error(f"unknown option {option}")
    if not arguments:
        _usage_error("name a program to run")

    _hide_own_frames()
    install()
    sys.path.insert(1, os.fspath(_alias.SITE))
    program, rest = _load(arguments)
    _run(program, rest, timeline)


def _show(text: str) -> None:
    print(text)


def _checked(targets: list[str]) -> int:
    from headrace.mxnet import _check

    if not targets:
        _usage_error("--check needs files or folders")
    install()
    try:
        return _check.check(targets)
    except BrokenPipeError:
        raise  # nobody reads the list
    except OSError as error:
        _stop(f"can't read {error.filename!r}: [Errno {error.errno}] {error.strerror}")


def _load(arguments: list[str]) -> tuple[Program, list[str]]:
    first, *rest = arguments
    if first == "-":
        return _text_program("-", "<stdin>", sys.stdin.read()), rest
    if first in ("-m", "-c"):
        if not rest:
            _usage_error(f"{first} needs an argument")
        value, *rest = rest
        program = _text_program("-c", "<string>", value) if first == "-c" else _module_program(value)
        return program, rest
    return _file_program(first), rest


def _compile(source: str | bytes, filename: str) -> types.CodeType:
    return compile(source, filename, "exec", dont_inherit=True)


def _text_program(argv0: str, filename: str, source: str) -> Program:
    return Program(_compile(source, filename), argv0, "", {"__spec__": None, "__package__": None})


def _file_program(path: str) -> Program:
    inside = importlib.machinery.PathFinder.find_spec("__main__", [path])
    if inside is not None and inside.loader is not None:
        code = inside.loader.get_code("__main__")
        return Program(code, path, path, _attributes(inside.origin, inside.loader, inside))
    try:
        source = pathlib.Path(path).read_bytes()
    except OSError as error:
        _stop(f"can't open file {os.path.abspath(path)!r}: [Errno {error.errno}] {error.strerror}")
    full = os.path.abspath(path)
    loader = importlib.machinery.SourceFileLoader("__main__", full)
    folder = os.path.dirname(os.path.realpath(path))
    return Program(_compile(source, full), path, folder, _attributes(full, loader, None))


def _module_program(name: str) -> Program:
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ImportError as error:
        _stop(f"{error}", status=1)
    if spec is None or spec.loader is None:
        _stop(f"No module named {name}", status=1)
    code = spec.loader.get_code(spec.name)
    return Program(code, spec.origin or name, None, _attributes(spec.origin, spec.loader, spec))


def _attributes(
    file: str | None, loader: object, spec: importlib.machinery.ModuleSpec | None
) -> dict[str, object]:
    package = spec.parent if spec is not None else None
    return {
        "__file__": file,
        "__loader__": loader,
        "__spec__": spec,
        "__package__": package,
        "__cached__": None,
    }


def _run(program: Program, arguments: list[str], timeline: str | None) -> None:
    """Executes the program as `__main__` and waits for the engine: errors still in it are the program's."""
    import headrace

    module = types.ModuleType("__main__")
    vars(module).update(program.attributes, __builtins__=builtins)
    sys.modules["__main__"] = module
    sys.argv = [program.argv0, *arguments]
    if program.path0 is not None:
        sys.path[0] = program.path0
    if timeline is not None:
        headrace.profiler.set_config(filename=timeline, profile_all=True)
        headrace.profiler.set_state("run")
    try:
        exec(program.code, vars(module))
        headrace.nd.waitall()
    finally:
        if timeline is not None:
            headrace.profiler.dump()


def _hide_own_frames() -> None:
    """Makes an uncaught exception print as if python itself had run the program."""
    before = sys.excepthook
    own = {__file__, "<frozen runpy>", importlib.util.find_spec("runpy").origin}

    def hook(kind: type[BaseException], error: BaseException, traceback: types.TracebackType | None) -> None:
        while traceback is not None and traceback.tb_frame.f_code.co_filename in own:
            traceback = traceback.tb_next
        before(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = hook


def _usage_error(text: str) -> NoReturn:
    _stop(f"{text}\n\n{USAGE}".rstrip())


def _stop(text: str, status: int = 2) -> NoReturn:
    print(f"python -m headrace.mxnet: {text}", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
