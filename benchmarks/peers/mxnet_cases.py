"""What is timed, in MXNet 1.9.1: the cases of Headrace, which speaks the same language."""

import sys

import mxnet

sys.modules["headrace"] = sys.modules["headrace.mxnet"] = mxnet
sys.modules["headrace.mxnet.contrib"] = mxnet.contrib

import headrace_cases  # noqa: E402

CASES = {name: prepare for name, prepare in headrace_cases.CASES.items() if "bfloat16" not in name}
