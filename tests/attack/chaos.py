"""Threads that do everything at once, in programs that end at a random moment."""

import ast

from child import Attack, Finding
from processes import LIMIT, run_program

ACTIONS = (
    *("forward", "train", "set_data", "hybridize", "save_and_load", "reset_ctx", "fail", "profile", "copies"),
    *("gpus", "random_numbers", "wait", "delete"),
)
READERS = ("profile", "wait")  # wait for everything: the error of somebody else may be told to them
# How a program ends: its text, and the exit status that it must have.
ENDS = (("", 0), ("sys.exit(0)", 0), ("sys.exit(3)", 3), ("raise KeyError('the end')", 1), ("os._exit(5)", 5))


class Chaos(Attack):
    """Threads that forward, train, save, profile, fail and use GPUs, until the program ends at any moment."""

    programs = 14
    limit = 2 * LIMIT
    memory = None

    def program(self, random, number):
        lines = ["from scene import *"]
        for _ in range(random.choice((1, 2, 3, 4))):
            chosen = random.sample(ACTIONS, random.choice((1, 1, 2, 3)))
            daemon = random.random() < 0.6
            lines.append(f"thread([{', '.join(chosen)}], seed={random.randrange(1000)}, daemon={daemon})")
        end, _ = random.choice(ENDS)
        if random.random() < 0.3:
            lines.append("unread()")
        lines.append(f"time.sleep({random.choice((0, 0.01, 0.1, 0.3, 0.8))})")
        return "\n".join([*lines, *filter(None, [end])])

    def subject(self, text):
        return "the end of a program"

    def run(self, text):
        last = ast.unparse(ast.parse(text).body[-1])
        output = run_program(text, status=dict(ENDS).get(last, 0))
        is_unread = "unread()" in text and not any(one in text for one in READERS)
        if is_unread and "os._exit" not in text and "take: index 9" not in output:
            raise Finding("silent error", f"an error that nobody read is not told at the end:\n{output}")
        return True


ATTACK = Chaos()
