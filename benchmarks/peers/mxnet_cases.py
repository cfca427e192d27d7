"""What is timed, in MXNet 1.9.1: the cases of Headrace, which speaks the same language."""

import sys

import mxnet

sys.modules["headrace"] = mxnet
mxnet.waitall = mxnet.nd.waitall

import headrace_cases  # noqa: E402

# What 1.9.1 lacks on the CPU, or in np mode.
ABSENT = ("bfloat16",)


def cases():
    mxnet.npx.set_np()
    table = (
        headrace_cases.tiny() | headrace_cases.loops() | headrace_cases.large() | headrace_cases.products()
    )
    mxnet.npx.reset_np()
    table |= headrace_cases.training() | headrace_cases.files()
    return {name: prepare for name, prepare in table.items() if not any(word in name for word in ABSENT)}
