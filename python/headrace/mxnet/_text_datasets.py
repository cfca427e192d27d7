"""gluon.contrib.data.text: texts as sequences of numbers."""

import os
import shutil
import zipfile

import numpy

from .. import _arrays as arrays
from ..base import data_dir
from ..gluon.data.dataset import Dataset
from ..gluon.utils import check_sha1, download
from .contrib.text.utils import count_tokens_from_str
from .contrib.text.vocab import Vocabulary

__all__ = ["WikiText103", "WikiText2"]

_SERVER = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"
_END = "<eos>"
_FILES = {"train": "wiki.train.tokens", "validation": "wiki.valid.tokens", "test": "wiki.test.tokens"}


class _WikiText(Dataset):
    """Pairs (tokens, the tokens after each) of `seq_len` numbers, int32, whatever sentences they are of.

    Each line ends in the token '<eos>'; tokens that fill no sequence are left out. `vocab`: the Vocabulary;
    default: one of the segment itself. `root`: folder with the file of the segment, into which its archive is
    fetched if need be. KeyError: no such segment. OSError: the archive cannot be fetched; the error says
    where to put it by hand.
    """

    _name = None
    _archive_sha1 = None
    _sha1 = {}

    def __init__(self, root=None, segment="train", vocab=None, seq_len=35):
        if segment not in _FILES:
            raise KeyError(f"{type(self).__name__}: segment must be one of {list(_FILES)}, got {segment!r}")
        root = os.path.expanduser(root or os.path.join(data_dir(), "datasets", self._name))
        path = os.path.join(root, _FILES[segment])
        if not os.path.exists(path) or not check_sha1(path, self._sha1[segment]):
            self._fetch(root)
        with open(path, encoding="utf8") as file:
            content = file.read()
        self._counter = count_tokens_from_str(content)
        self._vocab = vocab or Vocabulary(self._counter, reserved_tokens=[_END])
        lines = [line.split() for line in content.splitlines()]
        tokens = [token for line in lines if line for token in (*line, _END)]
        numbers = numpy.array(self._vocab.to_indices(tokens), numpy.int32)
        count = (len(numbers) - 1) // seq_len * seq_len
        self._data, self._label = (
            arrays.array(part[:count].reshape(-1, seq_len), dtype="int32") for part in (numbers, numbers[1:])
        )

    def _fetch(self, root):
        """Fetches the archive and puts its files into the folder, whatever folders they are in there."""
        url = f"{os.environ.get('MXNET_GLUON_REPO', _SERVER)}gluon/dataset/{self._name}/{self._name}-v1.zip"
        os.makedirs(root, exist_ok=True)
        with zipfile.ZipFile(download(url, root, sha1_hash=self._archive_sha1)) as archive:
            for member in archive.namelist():
                name = os.path.basename(member)
                if name:
                    with archive.open(member) as source, open(os.path.join(root, name), "wb") as file:
                        shutil.copyfileobj(source, file)

    @property
    def vocabulary(self):
        """The Vocabulary of the numbers."""
        return self._vocab

    @property
    def frequencies(self):
        """collections.Counter of the tokens of the segment."""
        return self._counter

    def __getitem__(self, idx):
        return self._data[idx], self._label[idx]

    def __len__(self):
        return len(self._label)


class WikiText2(_WikiText):
    __doc__ = "WikiText-2, two million words of Wikipedia.\n\n    " + _WikiText.__doc__

    _name = "wikitext-2"
    _archive_sha1 = "3c914d17d80b1459be871a5039ac23e752a53cbe"
    _sha1 = {
        "train": "863f29c46ef9d167fff4940ec821195882fe29d1",
        "validation": "0418625c8b4da6e4b5c7a0b9e78d4ae8f7ee5422",
        "test": "c7b8ce0aa086fb34dab808c5c49224211eb2b172",
    }


class WikiText103(_WikiText):
    __doc__ = "WikiText-103, a hundred million words of Wikipedia.\n\n    " + _WikiText.__doc__

    _name = "wikitext-103"
    _archive_sha1 = "0aec09a7537b58d4bb65362fee27650eeaba625a"
    _sha1 = {
        "train": "b7497e2dfe77e72cfef5e3dbc61b7b53712ac211",
        "validation": "c326ac59dc587676d58c422eb8a03e119582f92b",
        "test": "8a5befc548865cec54ed4273cf87dbbad60d1e47",
    }
