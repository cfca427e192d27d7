"""Numbers for tokens."""

import collections

__all__ = ["UNKNOWN_INDEX", "Vocabulary"]

UNKNOWN_INDEX = 0  # of every token that has no number


class Vocabulary:
    """Tokens with the numbers 0, 1, 2, ...: the unknown token, reserved ones, then counted ones by frequency.

    Parameters
    ----------
    counter : collections.Counter of tokens; of equal counts the smaller token comes first.
    most_freq_count : at most so many tokens of `counter`; default: all.
    min_freq : only tokens of `counter` that came as often.
    unknown_token : what stands for all others.
    reserved_tokens : list of tokens that are there whatever was counted.

    AssertionError: `min_freq` is not positive, `counter` is no Counter, or a reserved token is there twice or
    is the unknown one.

    Examples
    --------
    >>> from headrace.mxnet.contrib import text
    >>> counts = text.utils.count_tokens_from_str("to be or not to be")
    >>> words = text.vocab.Vocabulary(counts, min_freq=2, reserved_tokens=["<pad>"])
    >>> words.idx_to_token
    ['<unk>', '<pad>', 'be', 'to']
    >>> words.to_indices(["to", "question"])
    [3, 0]
    """

    def __init__(
        self, counter=None, most_freq_count=None, min_freq=1, unknown_token="<unk>", reserved_tokens=None
    ):
        assert min_freq > 0, f"`min_freq` must be set to a positive value, got {min_freq}"
        reserved = reserved_tokens or []
        assert unknown_token not in reserved, "`reserved_tokens` cannot contain `unknown_token`"
        assert len(set(reserved)) == len(reserved), (
            f"`reserved_tokens` cannot contain duplicate reserved tokens, got {reserved}"
        )
        assert counter is None or isinstance(counter, collections.Counter), (
            f"`counter` must be an instance of collections.Counter, got {type(counter).__name__}"
        )
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else list(reserved_tokens)
        first = [unknown_token, *reserved]
        counted = sorted(counter.items(), key=lambda item: item[0]) if counter else []
        counted.sort(key=lambda item: item[1], reverse=True)  # keeps the order of equal counts
        known = set(first)
        chosen = [token for token, count in counted if count >= min_freq and token not in known]
        self._idx_to_token = first + chosen[:most_freq_count]
        self._token_to_idx = {token: index for index, token in enumerate(self._idx_to_token)}

    def __len__(self):
        return len(self._idx_to_token)

    @property
    def token_to_idx(self):
        """Dictionary from tokens to their numbers."""
        return self._token_to_idx

    @property
    def idx_to_token(self):
        """List of the tokens in the order of their numbers."""
        return self._idx_to_token

    @property
    def unknown_token(self):
        """What stands for all tokens that are not here."""
        return self._unknown_token

    @property
    def reserved_tokens(self):
        """List of the reserved tokens, or None."""
        return self._reserved_tokens

    def to_indices(self, tokens):
        """The number of a token, or a list of those of a list; 0 for tokens that are not here."""
        if not isinstance(tokens, list):
            return self._token_to_idx.get(tokens, UNKNOWN_INDEX)
        return [self._token_to_idx.get(token, UNKNOWN_INDEX) for token in tokens]

    def to_tokens(self, indices):
        """The token of a number, or a list of those of a list. ValueError: there is no such number."""
        if isinstance(indices, list):
            return [self.to_tokens(index) for index in indices]
        if not isinstance(indices, int) or not 0 <= indices < len(self):
            raise ValueError(
                f"Token index {indices} in the provided `indices` is invalid: expected an integer from 0 to "
                f"{len(self) - 1}"
            )
        return self._idx_to_token[indices]
