"""Every attack, short, with a fixed seed: nothing may be found."""

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent
ATTACKS = sorted(path.stem for path in FOLDER.glob("*.py") if "\nATTACK = " in path.read_text())


def run(*arguments):
    command = [sys.executable, str(FOLDER / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


@pytest.mark.parametrize("name", ATTACKS)
def test_finds_nothing(name):
    done = run("--only", name, "--seed", "1")
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-3000:]


HARMFUL = {
    "crash": "import ctypes; ctypes.string_at(8)",
    "hang": "while True: pass",
    "foreign error": "raise SystemError('inside')",
    "foreign text": "raise ValueError('std::bad_alloc')",
}


@pytest.mark.parametrize("kind", HARMFUL)
def test_harm_is_found_and_made_short(kind, tmp_path):
    """What an attack is worth: a program that does harm among right ones is told, without the rest of it."""
    limit = 1 if kind == "hang" else 30  # seconds of a program: on a busy machine others take long, too
    (tmp_path / "harm.py").write_text(
        "from child import Attack\n\n\nclass Harm(Attack):\n"
        f'    """Harm."""\n\n    programs, limit = 3, {limit}\n\n'
        "    def program(self, random, number):\n"
        f"        return 'a = 1\\nb = 2' + (number == 1) * {chr(10) + HARMFUL[kind]!r}\n\n\n"
        "ATTACK = Harm()\n"
    )
    program = (
        f"import sys; sys.path[:0] = [{str(FOLDER)!r}, {str(tmp_path)!r}]; import harm, run\n"
        f"run.ALONE_LIMIT = {2 * limit}\nsys.exit(run.run(harm.ATTACK, 1, 0, 3, 1e9))"
    )
    environment = {"PYTHONPATH": f"{tmp_path}:" + ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"\n{kind}: " in done.stdout and "3 programs" in done.stdout
    if kind != "hang":
        assert "a = 1" not in done.stdout and HARMFUL[kind].split("; ")[0] in done.stdout
