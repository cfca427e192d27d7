"""Vectors for tokens, and the files that they are read from."""

import logging
import os
import tarfile
import warnings
import zipfile

import numpy

from .... import _arrays as arrays
from ...._file import open_file
from ....gluon.utils import check_sha1, download
from ....ndarray import NDArray
from .vocab import UNKNOWN_INDEX, Vocabulary

__all__ = ["TokenEmbedding"]

_SERVER = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"


class TokenEmbedding(Vocabulary):
    """A Vocabulary with a vector for each token, that of the unknown token for all others.

    A subclass of the program calls `_load_embedding` in its constructor; one that is registered says in
    `pretrained_file_name_sha1` which files it can fetch, and in `pretrained_archive_name_sha1` in which
    archives they are.
    """

    pretrained_file_name_sha1 = {}

    # --- files ---

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name):
        """What is fetched for a file: itself, or an archive that has it."""
        return pretrained_file_name

    @classmethod
    def _get_pretrained_file_url(cls, pretrained_file_name):
        server = os.environ.get("MXNET_GLUON_REPO", _SERVER)
        return f"{server}gluon/embeddings/{cls.__name__.lower()}/" + cls._get_download_file_name(
            pretrained_file_name
        )

    @classmethod
    def _get_pretrained_file(cls, embedding_root, pretrained_file_name):
        """The path of a file in the folder of this embedding below `embedding_root`, fetched if need be."""
        folder = os.path.join(os.path.expanduser(embedding_root), cls.__name__.lower())
        path = os.path.join(folder, pretrained_file_name)
        expected = cls.pretrained_file_name_sha1[pretrained_file_name]
        if os.path.exists(path) and check_sha1(path, expected):
            return path
        url = cls._get_pretrained_file_url(pretrained_file_name)
        name = url.rpartition("/")[2]
        archives = getattr(cls, "pretrained_archive_name_sha1", None)
        fetched = download(
            url, os.path.join(folder, name), sha1_hash=archives[name] if archives else expected
        )
        _unpack(fetched, folder)
        return path

    @classmethod
    def _check_pretrained_file_names(cls, pretrained_file_name):
        """KeyError: there is no such file for this embedding."""
        if pretrained_file_name not in cls.pretrained_file_name_sha1:
            name = cls.__name__.lower()
            raise KeyError(
                f"Cannot find pretrained file {pretrained_file_name} for token embedding {name}. Valid "
                f"pretrained files for embedding {name}: {', '.join(cls.pretrained_file_name_sha1)}"
            )

    def _load_embedding(self, pretrained_file_path, elem_delim, init_unknown_vec, encoding="utf8"):
        """Adds the tokens of a file, each on a line with the numbers of its vector behind it.

        The unknown token has the vector of the file, else `init_unknown_vec(shape=length)`. Of a token that
        comes again the first vector counts, with a warning; a line with one number is taken for a header.
        ValueError: no such file, or something else than numbers. AssertionError: a line without numbers,
        vectors of different lengths, or no vectors.
        """
        path = os.path.expanduser(pretrained_file_path)
        if not os.path.isfile(path):
            raise ValueError(
                "`pretrained_file_path` must be a valid path to the pre-trained token embedding file, got "
                f"{path}"
            )
        logging.info("Loading pre-trained token embedding vectors from %s", path)
        rows, unknown, seen = [], None, set()
        with open_file(path, "r", encoding=encoding) as file:
            for number, line in enumerate(file, 1):
                where = f"At line {number} of the pre-trained token embedding file {path}"
                token, vector = _token_and_vector(line.rstrip().split(elem_delim), where)
                if token in seen:
                    warnings.warn(
                        f"{where}: the embedding vector for token {token} has been loaded and a duplicate "
                        "embedding for the same token is seen and skipped.",
                        stacklevel=3,
                    )
                elif token == self.unknown_token:
                    unknown = vector
                    seen.add(token)
                elif len(vector) == 1:
                    warnings.warn(
                        f"{where}: token {token} with 1-dimensional vector {vector} is likely a header and "
                        "is skipped.",
                        stacklevel=3,
                    )
                else:
                    assert not rows or len(vector) == len(rows[0]), (
                        f"{where}: the dimension of token {token} is {len(vector)} but the dimension of "
                        f"previous tokens is {len(rows[0])}. Dimensions of all the tokens must be the same."
                    )
                    rows.append(vector)
                    seen.add(token)
                    self._token_to_idx[token] = len(self._idx_to_token)
                    self._idx_to_token.append(token)
        assert rows, f"The pre-trained token embedding file {path} has no vectors"
        self._set_vectors(rows, unknown, init_unknown_vec)

    def _set_vectors(self, rows, unknown, init_unknown_vec):
        """`rows` are the vectors of the last tokens; all before have that of the unknown token."""
        self._vec_len = len(rows[0])
        if unknown is None:
            unknown = arrays.in_mode(init_unknown_vec(shape=self._vec_len)).asnumpy()
        vectors = numpy.empty((len(self), self._vec_len), "float32")
        vectors[: len(self) - len(rows)] = unknown
        vectors[len(self) - len(rows) :] = rows
        self._idx_to_vec = arrays.array(vectors, dtype="float32")

    # --- of a vocabulary ---

    def _index_tokens_from_vocabulary(self, vocabulary):
        self._token_to_idx = dict(vocabulary.token_to_idx)
        self._idx_to_token = list(vocabulary.idx_to_token)
        self._unknown_token = vocabulary.unknown_token
        reserved = vocabulary.reserved_tokens
        self._reserved_tokens = None if reserved is None else list(reserved)

    def _set_idx_to_vec_by_embeddings(self, token_embeddings, vocab_len, vocab_idx_to_token):
        """Joins the vectors that several embeddings have for the same tokens."""
        self._vec_len = sum(embedding.vec_len for embedding in token_embeddings)
        vectors = numpy.empty((vocab_len, self._vec_len), "float32")
        start = 0
        for embedding in token_embeddings:
            end = start + embedding.vec_len
            rows = [UNKNOWN_INDEX, *embedding.to_indices(list(vocab_idx_to_token[1:]))]
            vectors[:, start:end] = embedding.idx_to_vec.asnumpy()[rows]
            start = end
        self._idx_to_vec = arrays.array(vectors, dtype="float32")

    def _build_embedding_for_vocabulary(self, vocabulary):
        """Keeps the tokens of `vocabulary` and no others."""
        if vocabulary is None:
            return
        assert isinstance(vocabulary, Vocabulary), (
            "The argument `vocabulary` must be an instance of contrib.text.vocab.Vocabulary, got "
            f"{type(vocabulary).__name__}"
        )
        self._set_idx_to_vec_by_embeddings([self], len(vocabulary), vocabulary.idx_to_token)
        self._index_tokens_from_vocabulary(vocabulary)

    # --- vectors ---

    @property
    def vec_len(self):
        """The length of each vector."""
        return self._vec_len

    @property
    def idx_to_vec(self):
        """The vectors, an array (tokens, vec_len) of float32."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens, lower_case_backup=False):
        """The vector of a token, (vec_len,), or of a list of tokens, (len(tokens), vec_len).

        With `lower_case_backup` a token that is not here is looked up in lower case.
        """
        wanted = tokens if isinstance(tokens, list) else [tokens]
        if lower_case_backup:
            wanted = [token if token in self.token_to_idx else token.lower() for token in wanted]
        vectors = self._idx_to_vec.take(arrays.array(self.to_indices(list(wanted)), dtype="int32"), axis=0)
        return vectors if isinstance(tokens, list) else vectors[0]

    def update_token_vectors(self, tokens, new_vectors):
        """Writes the vectors of a token or of a list of them: an array (len(tokens), vec_len), for one token
        (vec_len,) as well.

        AssertionError: another shape. ValueError: a token is not here; name the unknown token to change that.
        """
        single = not isinstance(tokens, list) or len(tokens) == 1
        tokens = tokens if isinstance(tokens, list) else [tokens]
        dimensions = (1, 2) if single else (2,)
        assert isinstance(new_vectors, NDArray) and new_vectors.ndim in dimensions, (
            f"`new_vectors` must be an array with {' or '.join(map(str, dimensions))} dimensions for "
            f"{len(tokens)} tokens"
        )
        shape = new_vectors.shape if new_vectors.ndim == 2 else (1, *new_vectors.shape)
        assert shape == (len(tokens), self.vec_len), (
            "`new_vectors` must have a row for each token and a column for each element of a vector: "
            f"expected {(len(tokens), self.vec_len)}, got {new_vectors.shape}"
        )
        for token in tokens:
            if token not in self.token_to_idx:
                raise ValueError(
                    f"Token {token} is unknown. To update the embedding vector for an unknown token, please "
                    f"specify it explicitly as the `unknown_token` {self.unknown_token} in `tokens`. This is "
                    "to avoid unintended updates."
                )
        indices = arrays.array(self.to_indices(tokens), dtype="int32")
        self._idx_to_vec[indices] = arrays.in_mode(new_vectors).reshape(shape)


def _token_and_vector(parts, where):
    assert len(parts) > 1, f"{where}: the data format is unexpected, a token without a vector"
    try:
        return parts[0], [float(part) for part in parts[1:]]
    except ValueError as error:
        raise ValueError(f"{where}: {error}; expected a token and numbers") from error


def _unpack(path, folder):
    """Unpacks an archive, and leaves other files alone."""
    if path.endswith(".zip"):
        with zipfile.ZipFile(path) as file:
            file.extractall(folder)
    elif path.endswith(".gz"):
        with tarfile.open(path, "r:gz") as file:
            file.extraction_filter = getattr(
                tarfile, "data_filter", None
            )  # Pythons without it trust archives
            file.extractall(folder)
