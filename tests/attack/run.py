"""Attacks the installed headrace (or the one on PYTHONPATH) with random programs, and prints what did harm.

Each attack makes programs from a seed and runs them in child processes with limits. A finding is a program
that crashed, hung, showed foreign memory, grew, gave wrong values, or raised an error that is not Headrace's.
It is made as short as it can be, and printed so that it can be run: put `from given import *` above it, and
tests/attack on PYTHONPATH. The exit status is 1 when something was found.
"""

import argparse
import ast
import importlib
import pathlib
import re
import sys
import time

from child import events

SHRINK_SECONDS = 60
ALONE_LIMIT = 30  # seconds after which a program that runs alone hangs, however busy the machine is


def attacks():
    """Name to attack: every module here that has one."""
    folder = pathlib.Path(__file__).parent
    named = {path.stem: path.read_text() for path in sorted(folder.glob("*.py"))}
    return {
        name: importlib.import_module(name).ATTACK for name, text in named.items() if "\nATTACK = " in text
    }


class Findings:
    """What one attack found: each kind of harm by each function once."""

    def __init__(self, attack):
        self._attack = attack
        self._seen = {}
        self.count = 0

    def add(self, kind, detail, text, where, subject=None):
        """Notes a finding; prints it when it is new, also as the short program that it comes down to."""
        subject = subject or self._attack.subject(text)
        if self._is_known(kind, detail, subject):
            return
        text, detail, alone = shrink(self._attack, kind, detail, text)
        if kind in ("growth", "hang") and not alone:  # others used the heap, or the machine was busy
            del self._seen[kind, subject]
            return
        shown, subject = subject, self._attack.subject(text) if kind == "crash" else subject
        if shown != subject and self._is_known(kind, detail, subject):
            return
        print(f"\n{kind}: {subject}\n    " + detail.strip().replace("\n", "\n    "))
        print(f"  program{'' if alone else ' (does nothing alone, but after those before it)'}, {where}:")
        print("    " + text.replace("\n", "\n    "), flush=True)
        self.count += 1

    def _is_known(self, kind, detail, subject):
        """Notes one more of a kind; one error counts once, whichever function shows it."""
        key = kind, detail_of(kind, detail) or subject
        self._seen[key] = self._seen.get(key, 0) + 1
        return self._seen[key] > 1

    def summary(self):
        """A line for each finding."""
        return [f"{count:6} x {kind}: {about}" for (kind, about), count in self._seen.items()]


def detail_of(kind, detail):
    """What tells an error from others of its kind; empty: nothing does."""
    if kind not in ("foreign text", "error in a right program", "wrong status") or len(detail) < 20:
        return ""
    detail = detail.strip().splitlines()[-1]
    return re.sub(r"0x\w+|[\d.()-]+", "#", detail)


def shrink(attack, kind, detail, text):
    """The shortest part of a program that does the same harm, what it does, and whether it does so alone."""

    def first_harmful(texts):
        job = {"texts": texts, "first": 0, "last": len(texts), "limit": max(attack.limit, ALONE_LIMIT)}
        number = None
        for event, *about in events(attack, job):
            if event == "began":
                number = about[0]
            elif event == "found" and about[0] == kind and detail_of(*about[:2]) == detail_of(kind, detail):
                return texts[number], about[1]
        return None

    found = first_harmful([text])
    if found is None:
        return text, detail, False
    deadline = time.monotonic() + SHRINK_SECONDS
    while kind != "hang" and time.monotonic() < deadline:
        shorter = first_harmful(list(parts(found[0])))
        if shorter is None:
            break
        found = shorter
    return *found, True


def parts(text):
    """A program without some of its statements, elements of lists, or keyword arguments."""

    def holders(tree):
        return [node for node in ast.walk(tree) if isinstance(getattr(node, attribute, None), list)]

    for attribute in ("body", "elts", "keywords"):
        for place, holder in enumerate(holders(ast.parse(text))):
            for cut in cuts(len(getattr(holder, attribute))):
                tree = ast.parse(text)
                items = getattr(holders(tree)[place], attribute)
                del items[cut]
                if items or attribute != "body":
                    yield ast.unparse(tree)


def cuts(size):
    """Slices that are worth leaving out of a list: its halves, then each element."""
    if size > 3:
        yield slice(size // 2, None)
        yield slice(size // 2)
    for place in reversed(range(min(size, 60))):
        yield slice(place, place + 1)


def run(attack, seed, first, count, seconds):
    """Runs an attack; how many different findings it had."""
    begin = time.monotonic()
    findings = Findings(attack)
    number, last = first, first + count
    text = "(no program began)"
    taken = 0
    while number < last and time.monotonic() < begin + seconds:
        before = number
        for event, *about in events(attack, {"seed": seed, "first": number, "last": last}):
            if event == "began":
                number, text = about[0] + 1, about[1]
                if time.monotonic() > begin + seconds:
                    break
                progress(attack, number - first, findings)
            elif event == "taken":
                taken += 1
            else:
                kind, detail, *subject = about
                where = f"--only {attack.name} --seed {seed} --first {number - 1}"
                findings.add(kind, detail, text, where, *subject)
        if number == before:
            findings.add("crash", "the child did not begin", text, "")
            break
    share = taken / max(number - first, 1)
    if number - first >= 500 and not attack.taken[0] <= share <= attack.taken[1]:
        findings.add(
            "blunt", f"{share:.0%} of the programs ran to their end, expected {attack.taken}", text, ""
        )
    taken_share, seconds = f"{share:.0%} ran to their end", f"{time.monotonic() - begin:.0f} s"
    print(f"\r{attack.name}: {number - first} programs, {taken_share}; {findings.count} findings; {seconds}")
    print("\n".join(findings.summary()), flush=True)
    return findings.count


def progress(attack, done, findings):
    if sys.stdout.isatty() and done % 50 == 0:
        print(f"\r{attack.name}: {done} programs, {findings.count} findings ", end="", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="of the programs (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="number of the first program of each attack")
    parser.add_argument("--programs", type=int, help="of each attack (default: as many as in CI)")
    parser.add_argument("--seconds", type=float, help="for each attack, with as many programs as fit")
    parser.add_argument("--only", help="name of one attack")
    parser.add_argument("--list", action="store_true", help="list the attacks and end")
    arguments = parser.parse_args()
    chosen = attacks()
    if arguments.only:
        if arguments.only not in chosen:
            parser.error(f"there is no attack {arguments.only}; there are {', '.join(chosen)}")
        chosen = {arguments.only: chosen[arguments.only]}
    if arguments.list:
        for name, attack in chosen.items():
            print(f"{name:14} {attack.__doc__.splitlines()[0]}", *attack.notes(), sep="\n" + " " * 15)
        return 0
    found = 0
    for attack in chosen.values():
        count = arguments.programs or (10**9 if arguments.seconds else attack.programs)
        found += run(attack, arguments.seed, arguments.first, count, arguments.seconds or float("inf"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
