"""Counting tokens."""

import collections
import re

__all__ = ["count_tokens_from_str"]


def count_tokens_from_str(
    source_str, token_delim=" ", seq_delim="\n", to_lower=False, counter_to_update=None
):
    """How often each token comes in a text, a collections.Counter.

    Tokens lie between matches of the regular expressions `token_delim` and `seq_delim`, and are compared in
    lower case with `to_lower`. With `counter_to_update` they are added to that counter, which is returned.

    Examples
    --------
    >>> from headrace.mxnet.contrib import text
    >>> text.utils.count_tokens_from_str("Life is great. life is", to_lower=True)
    Counter({'life': 2, 'is': 2, 'great.': 1})
    """
    tokens = filter(None, re.split(f"{token_delim}|{seq_delim}", source_str))
    counter = collections.Counter() if counter_to_update is None else counter_to_update
    counter.update(token.lower() if to_lower else token for token in tokens)
    return counter
