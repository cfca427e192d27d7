"""Tokens of texts: counting them, numbering them, vectors for them."""

from . import embedding, utils, vocab
