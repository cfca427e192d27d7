"""Random functions in every mode: serial, without fusion or machine code, hybridized, with gradients."""

import json
import os
import subprocess
import sys

from child import Attack, Finding
from functions_in_modes import compare

MODES = (
    {},
    {"HEADRACE_ENGINE": "serial"},
    {"HEADRACE_FUSION": "0"},
    {"HEADRACE_NATIVE": "0"},
    {"HEADRACE_WORKERS": "4", "HEADRACE_SPIN_US": "0"},
)
# Steps on values of shape (5, 6) that stay so, and stay small.
STEPS = (
    *(
        "F.tanh({a} + {b})",
        "F.sigmoid({a}) * {b}",
        "F.relu({a} - {b})",
        "F.broadcast_maximum({a}, {b})",
        "{a} * {number}",
    ),
    *(
        "F.sin({a})",
        "F.abs({a}) + {number}",
        "F.exp(-F.square({a}))",
        "F.sqrt(F.abs({a}) + 1)",
        "F.clip({a}, -0.5, {number})",
    ),
    *(
        "F.softmax({a})",
        "F.log_softmax({a}, axis=0)",
        "F.broadcast_sub({a}, F.mean({a}, axis=1, keepdims=True))",
    ),
    *(
        "F.broadcast_mul({a}, F.max({b}, axis=0, keepdims=True))",
        "F.where({a} > {b}, {a}, {b})",
        "F.flip({a}, axis=1)",
    ),
    *("F.transpose(F.transpose({a}) * 2)", "F.reshape(F.reshape({a}, (-1,)), (5, 6))", "F.sort({a}, axis=1)"),
    *("F.concat(F.slice({a}, begin=(0, 0), end=(2, 6)), F.slice({b}, begin=(2, 0), end=(5, 6)), dim=0)",),
    *(
        "F.dot({a}, F.dot({b}, {a}, transpose_a=True)) * 0.1",
        "F.LayerNorm({a}, F.mean({b}, axis=0), F.max({a}, axis=0))",
    ),
    *(
        "F.Cast(F.Cast({a}, 'float16'), 'float32')",
        "F.take({a}, F.argmax({b}, axis=1), axis=0)",
        "F.BlockGrad({a}) + {b}",
    ),
    *(
        "F.broadcast_mul({b}, F.pick({a}, F.argmax({b}, axis=1), keepdims=True))",
        "F.broadcast_div({a}, F.norm({b}) + 1)",
    ),
    *(
        "F.smooth_l1({a})",
        "F.erf({a})",
        "F.cumsum({a}, axis=0) * 0.3",
        "F.tile(F.sum({a}, axis=1, keepdims=True), (1, 6)) * 0.1",
    ),
)


class Modes(Attack):
    """Random functions: the same bits in every mode, and gradients of the same values."""

    programs = 500
    memory = None
    taken = 0.9, 1

    def start(self):
        command = [
            sys.executable,
            os.path.join(os.path.dirname(os.path.abspath(__file__)), "functions_in_modes.py"),
        ]
        self._workers = [
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **mode}, text=True
            )
            for mode in MODES
        ]

    def program(self, random, number):
        names, steps = ["a", "b", "c"], []
        for place in range(random.randint(2, 12)):
            step = random.choice(STEPS).format(
                a=random.choice(names[-4:]), b=random.choice(names), number=random.choice((0.25, 0.5, 1.5))
            )
            names.append(f"v{place}")
            steps.append(f"    {names[-1]} = {step}")
        kept = ", ".join(random.sample(names[3:], min(len(steps), random.choice((1, 1, 2)))))
        return "\n".join(["def f(F, a, b, c):", *steps, f"    return [{kept}]"])

    def subject(self, text):
        return "modes"

    def run(self, text):
        for worker in self._workers:
            worker.stdin.write(json.dumps(text) + "\n")
            worker.stdin.flush()
        results = [json.loads(worker.stdout.readline()) for worker in self._workers]
        if "error" in results[0]:
            raise Finding("error in a right program", results[0]["error"])
        compare(results[0]["eager"], results[0]["hybrid"], "eager and hybridized")
        for mode, result in zip(MODES[1:], results[1:]):
            for way in ("eager", "hybrid"):
                compare(results[0][way], result.get(way, []), f"{way}, {mode}")
        return True


ATTACK = Modes()
