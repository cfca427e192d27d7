"""Embeddings by their names: GloVe, fastText, those of a file, and several of them joined."""

import os
from pathlib import Path

from .... import ndarray as nd
from .... import registry
from ....base import data_dir
from .token_embedding import TokenEmbedding as _TokenEmbedding
from .vocab import Vocabulary

__all__ = [
    "CompositeEmbedding",
    "CustomEmbedding",
    "FastText",
    "GloVe",
    "create",
    "get_pretrained_file_names",
    "register",
]

_ROOT = os.path.join(data_dir(), "embeddings")
_FASTTEXT_FILES = Path(__file__).parents[3] / "_data" / "embeddings" / "fasttext.txt"

_register = registry.get_register_func(_TokenEmbedding, "token embedding")
_create = registry.get_create_func(_TokenEmbedding, "token embedding")


def register(embedding_cls):
    """A class decorator that lets `create` find an embedding by the name of its class, in any case.

    Examples
    --------
    >>> from headrace.mxnet.contrib.text import embedding
    >>> @embedding.register
    ... class Towns(embedding.CustomEmbedding):
    ...     pass
    >>> "towns" in embedding.get_pretrained_file_names()
    True
    """
    return _register(embedding_cls)


def create(embedding_name, **kwargs):
    """An embedding of a registered class, 'glove' or 'fasttext' for example; keywords go to the class.

    AssertionError: no class has that name.

    Examples
    --------
    >>> import os, tempfile
    >>> from headrace.mxnet.contrib.text import embedding
    >>> own = embedding.register(type("OwnVectors", (embedding.CustomEmbedding,), {}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "vectors.txt")
    ...     with open(path, "w") as file:
    ...         print("red 1 2", file=file)
    ...     vectors = embedding.create("ownvectors", pretrained_file_path=path)
    >>> vectors.idx_to_token
    ['<unk>', 'red']
    """
    return _create(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name=None):
    """The files that an embedding can fetch, a list; without a name, a dictionary of the lists of all.

    KeyError: there is no such embedding.

    Examples
    --------
    >>> from headrace.mxnet.contrib.text import embedding
    >>> "wiki.en.vec" in embedding.get_pretrained_file_names("fasttext")
    True
    """
    known = {
        name: list(embedding.pretrained_file_name_sha1)
        for name, embedding in registry.get_registry(_TokenEmbedding).items()
    }
    if embedding_name is None:
        return known
    if embedding_name not in known:
        raise KeyError(
            f"Cannot find `embedding_name` {embedding_name}. Use `get_pretrained_file_names("
            "embedding_name=None).keys()` to get all the valid embedding names."
        )
    return known[embedding_name]


def _fasttext_rows():
    """(name, SHA-1 of its file of vectors, SHA-1 of its archive) of all networks of fastText."""
    return [line.split() for line in _FASTTEXT_FILES.read_text(encoding="utf8").splitlines()]


@register
class GloVe(_TokenEmbedding):
    """Vectors of GloVe, from a file that is fetched into `embedding_root` unless it is there.

    Parameters
    ----------
    pretrained_file_name : one of get_pretrained_file_names('glove').
    embedding_root : folder; default `embeddings` in the folder `$MXNET_HOME`.
    init_unknown_vec : a function of the keyword `shape` that makes the vector of the unknown token, if the
        file has none.
    vocabulary : Vocabulary whose tokens are kept; default: all tokens of the file.
    kwargs : see Vocabulary.

    KeyError: there is no such file. OSError: it cannot be fetched; the error says where to put it by hand.

    Examples
    --------
    >>> from headrace.mxnet.contrib.text import embedding
    >>> "glove.6B.50d.txt" in embedding.get_pretrained_file_names("glove")
    True
    >>> vectors = embedding.GloVe("glove.6B.50d.txt")  # doctest: +SKIP
    """

    pretrained_archive_name_sha1 = {
        "glove.42B.300d.zip": "f8e722b39578f776927465b71b231bae2ae8776a",
        "glove.6B.zip": "b64e54f1877d2f735bdd000c1d7d771e25c7dfdc",
        "glove.840B.300d.zip": "8084fbacc2dee3b1fd1ca4cc534cbfff3519ed0d",
        "glove.twitter.27B.zip": "dce69c404025a8312c323197347695e81fd529fc",
    }
    pretrained_file_name_sha1 = {
        "glove.42B.300d.txt": "876767977d6bd4d947c0f84d44510677bc94612a",
        "glove.6B.50d.txt": "21bf566a9d27f84d253e0cd4d4be9dcc07976a6d",
        "glove.6B.100d.txt": "16b1dbfaf35476790bd9df40c83e2dfbd05312f1",
        "glove.6B.200d.txt": "17d0355ddaa253e298ede39877d1be70f99d9148",
        "glove.6B.300d.txt": "646443dd885090927f8215ecf7a677e9f703858d",
        "glove.840B.300d.txt": "294b9f37fa64cce31f9ebb409c266fc379527708",
        "glove.twitter.27B.25d.txt": "767d80889d8c8a22ae7cd25e09d0650a6ff0a502",
        "glove.twitter.27B.50d.txt": "9585f4be97e286339bf0112d0d3aa7c15a3e864d",
        "glove.twitter.27B.100d.txt": "1bbeab8323c72332bd46ada0fc3c99f2faaa8ca8",
        "glove.twitter.27B.200d.txt": "7921c77a53aa5977b1d9ce3a7c4430cbd9d1207a",
    }

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name):
        corpus = pretrained_file_name.split(".")[1]
        return next(name for name in cls.pretrained_archive_name_sha1 if name.split(".")[1] == corpus)

    def __init__(
        self,
        pretrained_file_name="glove.840B.300d.txt",
        embedding_root=_ROOT,
        init_unknown_vec=nd.zeros,
        vocabulary=None,
        **kwargs,
    ):
        self._check_pretrained_file_names(pretrained_file_name)
        super().__init__(**kwargs)
        path = GloVe._get_pretrained_file(embedding_root, pretrained_file_name)
        self._load_embedding(path, " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


@register
class FastText(_TokenEmbedding):
    """Vectors of fastText, for the words of some 300 languages; parameters and errors as GloVe's.

    Examples
    --------
    >>> from headrace.mxnet.contrib.text import embedding
    >>> "wiki.simple.vec" in embedding.get_pretrained_file_names("fasttext")
    True
    >>> vectors = embedding.FastText("wiki.simple.vec")  # doctest: +SKIP
    """

    pretrained_archive_name_sha1 = {f"{name}.zip": sha1 for name, _, sha1 in _fasttext_rows()}
    pretrained_file_name_sha1 = {f"{name}.vec": sha1 for name, sha1, _ in _fasttext_rows()}

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name):
        return pretrained_file_name.rpartition(".")[0] + ".zip"

    def __init__(
        self,
        pretrained_file_name="wiki.simple.vec",
        embedding_root=_ROOT,
        init_unknown_vec=nd.zeros,
        vocabulary=None,
        **kwargs,
    ):
        self._check_pretrained_file_names(pretrained_file_name)
        super().__init__(**kwargs)
        path = FastText._get_pretrained_file(embedding_root, pretrained_file_name)
        self._load_embedding(path, " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


class CustomEmbedding(_TokenEmbedding):
    """Vectors of a file with a token and its numbers on each line, `elem_delim` between them.

    `init_unknown_vec`, `vocabulary` and other keywords are those of GloVe. ValueError: there is no such file,
    or it has something else than numbers. AssertionError: vectors of different lengths.

    Examples
    --------
    >>> import os, tempfile
    >>> from headrace.mxnet.contrib import text
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "vectors.txt")
    ...     with open(path, "w") as file:
    ...         print("red 1 2", "blue 3 4", sep=chr(10), file=file)
    ...     vectors = text.embedding.CustomEmbedding(path)
    >>> vectors.get_vecs_by_tokens(["blue", "green"])  # what is not there has zeros
    [[3. 4.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(
        self,
        pretrained_file_path,
        elem_delim=" ",
        encoding="utf8",
        init_unknown_vec=nd.zeros,
        vocabulary=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """For each token of `vocabulary` the vectors of one or several embeddings, one behind the other.

    AssertionError: `vocabulary` is no Vocabulary, or `token_embeddings` something else than embeddings.

    Examples
    --------
    >>> import os, tempfile
    >>> from headrace.mxnet.contrib import text
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "vectors.txt")
    ...     with open(path, "w") as file:
    ...         print("red 1 2", "blue 3 4", sep=chr(10), file=file)
    ...     vectors = text.embedding.CustomEmbedding(path)
    >>> words = text.vocab.Vocabulary(text.utils.count_tokens_from_str("blue blue green"))
    >>> both = text.embedding.CompositeEmbedding(words, [vectors, vectors])
    >>> both.get_vecs_by_tokens("blue")
    [3. 4. 3. 4.]
    <NDArray 4 @cpu(0)>
    """

    def __init__(self, vocabulary, token_embeddings):
        assert isinstance(vocabulary, Vocabulary), (
            "The argument `vocabulary` must be an instance of contrib.text.vocab.Vocabulary, got "
            f"{type(vocabulary).__name__}"
        )
        parts = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        for part in parts:
            assert isinstance(part, _TokenEmbedding), (
                "The argument `token_embeddings` must be an embedding or a list of embeddings, got "
                f"{type(part).__name__}"
            )
        self._index_tokens_from_vocabulary(vocabulary)
        self._set_idx_to_vec_by_embeddings(parts, len(self), self.idx_to_token)
