"""Sentences of different lengths as batches of numbers."""

import bisect
import random

import numpy

from ... import ndarray as nd
from ...io import DataBatch, DataDesc, DataIter
from ...io.base import check_batch_size

__all__ = ["BucketSentenceIter", "encode_sentences"]


def encode_sentences(
    sentences, vocab=None, invalid_label=-1, invalid_key="\n", start_label=0, unknown_token=None
):
    r"""(sentences as lists of numbers, word to number) of sentences as lists of words.

    Without `vocab` one is made: `invalid_key` is `invalid_label`, words count up from `start_label` as they
    come. With `vocab`, unknown words stand for `unknown_token`. AssertionError: there is no such token.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> rnn.encode_sentences([["to", "be"], ["not", "to", "be"]], start_label=1)
    ([[1, 2], [3, 1, 2]], {'\n': -1, 'to': 1, 'be': 2, 'not': 3})
    """
    is_new = vocab is None
    vocab = {invalid_key: invalid_label} if is_new else vocab
    label, coded = start_label, []
    for sentence in sentences:
        numbers = []
        for word in sentence:
            if word not in vocab:
                assert is_new or unknown_token, (
                    f"encode_sentences: unknown token {word}; add it to vocab, or pass unknown_token"
                )
                label += label == invalid_label
                word = unknown_token or word
                vocab[word] = label
                label += 1
            numbers.append(vocab[word])
        coded.append(numbers)
    return coded, vocab


class BucketSentenceIter(DataIter):
    """Batches of sentences of about one length; the label of a word is the word after it.

    Parameters
    ----------
    sentences : lists of numbers, see encode_sentences.
    batch_size : sentences of a batch.
    buckets : lengths; a sentence goes into the shortest that holds it and is dropped if none does. None:
        every length that fills a batch.
    invalid_label : what fills sentences up, and the label after the last word.
    data_name, label_name, dtype : of the arrays.
    layout : 'NT' or 'TN'.

    Sentences are shuffled at every reset, by Python's and NumPy's generators. ValueError: another layout, or
    no sentence fits.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> batches = rnn.BucketSentenceIter([[1, 2], [3, 4], [5, 6, 7]], batch_size=1, buckets=[2, 4])
    WARNING: discarded 0 sentences longer than the largest bucket.
    >>> sorted(batch.data[0].shape for batch in batches)
    [(1, 2), (1, 2), (1, 4)]
    """

    def __init__(
        self,
        sentences,
        batch_size,
        buckets=None,
        invalid_label=-1,
        data_name="data",
        label_name="softmax_label",
        dtype="float32",
        layout="NT",
    ):
        check_batch_size(self, batch_size)
        super().__init__()
        if layout not in ("NT", "TN"):
            raise ValueError(f"BucketSentenceIter: expected the layout 'NT' or 'TN', got {layout!r}")
        if not buckets:
            counts = numpy.bincount([len(one) for one in sentences])
            buckets = [length for length, count in enumerate(counts) if count >= batch_size]
        self.batch_size = batch_size
        self.data_name = data_name
        self.label_name = label_name
        self.dtype = dtype
        self.invalid_label = invalid_label
        self.layout = layout
        self.major_axis = layout.find("N")
        self._fill(sentences, sorted(buckets))
        self.default_bucket_key = max(self.buckets)
        shape = (batch_size, self.default_bucket_key)
        self.provide_data = [self._describe(data_name, shape if layout == "NT" else shape[::-1])]
        self.provide_label = [self._describe(label_name, shape if layout == "NT" else shape[::-1])]
        self.idx = [
            (i, start)
            for i, bucket in enumerate(self.data)
            for start in range(0, len(bucket) - batch_size + 1, batch_size)
        ]
        self.reset()

    def _describe(self, name, shape):
        return DataDesc(name=name, shape=shape, layout=self.layout)

    def _fill(self, sentences, buckets):
        """Puts the sentences, filled up, into `data`, one array per length that has any."""
        rows = [[] for _ in buckets]
        dropped = 0
        for sentence in sentences:
            place = bisect.bisect_left(buckets, len(sentence))
            if place == len(buckets):
                dropped += 1
                continue
            row = numpy.full((buckets[place],), self.invalid_label, dtype=self.dtype)
            row[: len(sentence)] = sentence
            rows[place].append(row)
        print(f"WARNING: discarded {dropped} sentences longer than the largest bucket.")  # as MXNet does
        self.buckets = [length for length, bucket in zip(buckets, rows) if bucket]
        self.data = [numpy.asarray(bucket, dtype=self.dtype) for bucket in rows if bucket]
        if not self.data:
            raise ValueError(
                f"BucketSentenceIter: none of {len(sentences)} sentences is in a bucket; pass the lengths of "
                "some as buckets, or a smaller batch_size"
            )

    def reset(self):
        """Shuffles the sentences and begins anew."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata, self.ndlabel = [], []
        for bucket in self.data:
            numpy.random.shuffle(bucket)
            label = numpy.full_like(bucket, self.invalid_label)
            label[:, :-1] = bucket[:, 1:]
            self.nddata.append(nd.array(bucket, dtype=self.dtype))
            self.ndlabel.append(nd.array(label, dtype=self.dtype))

    def next(self):
        """The next batch; its `bucket_key` is the length of its sentences."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, start = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = (
            arrays[bucket][start : start + self.batch_size] for arrays in (self.nddata, self.ndlabel)
        )
        if self.layout == "TN":
            data, label = data.T, label.T
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=self.buckets[bucket],
            provide_data=[self._describe(self.data_name, data.shape)],
            provide_label=[self._describe(self.label_name, label.shape)],
        )
