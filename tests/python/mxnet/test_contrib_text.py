"""contrib.text: counting tokens, vocabularies, vectors of tokens."""

import collections
import hashlib
import zipfile

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet.contrib import text
from headrace.mxnet.contrib.text import embedding
from headrace.mxnet.contrib.text.vocab import Vocabulary

LINES = "a 0.1 0.2 0.3\nb 1 2 3\n<unk> 9 9 9\nA 4 5 6\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "vectors.txt").write_text(LINES)
    return str(tmp_path / "vectors.txt")


def test_counting_tokens():
    counts = text.utils.count_tokens_from_str("*Life*is*great*\n*life*is*", r"\*")
    assert counts == {"Life": 1, "is": 2, "great": 1, "life": 1}
    more = text.utils.count_tokens_from_str("LIFE IS", to_lower=True, counter_to_update=counts)
    assert more is counts and counts["life"] == 2 and counts["is"] == 3


def test_tokens_are_numbered_by_frequency():
    counter = collections.Counter("ccc bb aa <pad>".replace(" ", "")) + collections.Counter(["<pad>", "d"])
    vocabulary = Vocabulary(counter, most_freq_count=3, min_freq=2, reserved_tokens=["<pad>"])
    assert vocabulary.idx_to_token == ["<unk>", "<pad>", "a", "c", "b"]  # three a, of <pad> as well
    assert len(vocabulary) == 5 and vocabulary.token_to_idx["b"] == 4
    assert vocabulary.unknown_token == "<unk>" and vocabulary.reserved_tokens == ["<pad>"]
    assert vocabulary.to_indices("c") == 3 and vocabulary.to_indices(["b", "other"]) == [4, 0]
    assert vocabulary.to_tokens(2) == "a" and vocabulary.to_tokens([0, 1]) == ["<unk>", "<pad>"]
    assert Vocabulary().idx_to_token == ["<unk>"] and Vocabulary().reserved_tokens is None
    for index in (5, -1, "a"):
        with pytest.raises(ValueError, match="is invalid"):
            vocabulary.to_tokens(index)


@pytest.mark.parametrize(
    "wrong",
    [{"min_freq": 0}, {"reserved_tokens": ["<unk>"]}, {"reserved_tokens": ["x", "x"]}, {"counter": {"a": 1}}],
)
def test_refused_vocabularies(wrong):
    with pytest.raises(AssertionError):
        Vocabulary(**wrong)


@pytest.mark.parametrize("np_mode", [False, True])
def test_vectors_of_a_file(path, np_mode):
    with mx.util.np_array(np_mode), mx.util.np_shape(np_mode):
        made = embedding.CustomEmbedding(path, reserved_tokens=["<pad>"])
        assert made.idx_to_token == ["<unk>", "<pad>", "a", "b", "A"] and made.vec_len == 3
        assert type(made.idx_to_vec) is (mx.np.ndarray if np_mode else mx.nd.NDArray)
        assert made.get_vecs_by_tokens("b").asnumpy().tolist() == [1, 2, 3]
        assert made.get_vecs_by_tokens(["B", "<pad>"]).asnumpy().tolist() == [[9, 9, 9], [9, 9, 9]]
        assert made.get_vecs_by_tokens(["B"], lower_case_backup=True).asnumpy().tolist() == [[1, 2, 3]]
        ones = mx.np.ones if np_mode else mx.nd.ones
        made.update_token_vectors(["a", "<unk>"], ones((2, 3)))
        made.update_token_vectors("b", ones(3) * 2)
        assert made.idx_to_vec.asnumpy()[:, 0].tolist() == [1, 9, 1, 2, 4]


def test_refused_updates(path):
    made = embedding.CustomEmbedding(path)
    with pytest.raises(ValueError, match="Token x is unknown"):
        made.update_token_vectors("x", mx.nd.ones(3))
    for tokens, shape in ((["a", "b"], 3), ("a", (1, 1, 3)), ("a", 2), (["a", "b"], (1, 3))):
        with pytest.raises(AssertionError, match="new_vectors"):
            made.update_token_vectors(tokens, mx.nd.ones(shape))


def test_vectors_for_a_vocabulary(path, tmp_path):
    words = Vocabulary(collections.Counter(["b", "c"]), reserved_tokens=["<pad>"])
    made = embedding.CustomEmbedding(path, vocabulary=words)
    assert made.idx_to_token == ["<unk>", "<pad>", "b", "c"] and made.reserved_tokens == ["<pad>"]
    assert made.idx_to_vec.asnumpy()[:, 0].tolist() == [9, 9, 1, 9]

    (tmp_path / "more.txt").write_text("c,1,2\n")
    more = embedding.CustomEmbedding(str(tmp_path / "more.txt"), ",", init_unknown_vec=mx.nd.ones)
    both = embedding.CompositeEmbedding(words, [made, more])
    np.testing.assert_array_equal(both.idx_to_vec.asnumpy()[2:], [[1, 2, 3, 1, 1], [9, 9, 9, 1, 2]])
    assert both.vec_len == 5 and embedding.CompositeEmbedding(words, more).vec_len == 2
    with pytest.raises(AssertionError, match="vocabulary"):
        embedding.CompositeEmbedding(["b"], made)
    with pytest.raises(AssertionError, match="token_embeddings"):
        embedding.CompositeEmbedding(words, [words])


@pytest.mark.parametrize(
    ("lines", "error", "message"),
    [
        ("a 1 2\nb 1 2 3\n", AssertionError, "line 2 .*dimension of token b is 3"),
        ("a\n", AssertionError, "line 1 .*without a vector"),
        ("a 1 x\n", ValueError, "line 1 .*'x'; expected a token and numbers"),
        ("", AssertionError, "has no vectors"),
    ],
)
def test_broken_files(tmp_path, lines, error, message):
    (tmp_path / "vectors.txt").write_text(lines)
    with pytest.raises(error, match=message):
        embedding.CustomEmbedding(str(tmp_path / "vectors.txt"))
    with pytest.raises(ValueError, match="must be a valid path"):
        embedding.CustomEmbedding(str(tmp_path / "nothing.txt"))


def test_headers_and_tokens_that_come_again(tmp_path):
    (tmp_path / "vectors.txt").write_text("2 300\na 1 2\na 3 4\n")
    with pytest.warns(UserWarning, match="likely a header"), pytest.warns(UserWarning, match="duplicate"):
        made = embedding.CustomEmbedding(str(tmp_path / "vectors.txt"))
    assert made.idx_to_vec.asnumpy().tolist() == [[0, 0], [1, 2]]


def test_names_of_pretrained_files():
    names = embedding.get_pretrained_file_names()
    assert len(names["fasttext"]) == 327 and len(names["glove"]) == 10
    assert embedding.get_pretrained_file_names("glove") == names["glove"]
    with pytest.raises(KeyError, match="Cannot find `embedding_name`"):
        embedding.get_pretrained_file_names("unknown$$")
    with pytest.raises(KeyError, match="Cannot find pretrained file glove.txt for token embedding glove"):
        embedding.create("glove", pretrained_file_name="glove.txt")
    url = embedding.GloVe._get_pretrained_file_url("glove.6B.50d.txt")
    assert url.endswith("/gluon/embeddings/glove/glove.6B.zip")
    assert embedding.FastText._get_download_file_name("wiki.en.vec") == "wiki.en.zip"


def test_archives_are_fetched_and_unpacked(tmp_path, monkeypatch):
    server = tmp_path / "server" / "gluon" / "embeddings" / "mine"
    server.mkdir(parents=True)
    with zipfile.ZipFile(server / "mine.zip", "w") as file:
        file.writestr("mine.txt", LINES)

    @embedding.register
    class Mine(embedding._TokenEmbedding):
        pretrained_file_name_sha1 = {"mine.txt": hashlib.sha1(LINES.encode()).hexdigest()}
        pretrained_archive_name_sha1 = {
            "mine.zip": hashlib.sha1((server / "mine.zip").read_bytes()).hexdigest()
        }

        @classmethod
        def _get_download_file_name(cls, pretrained_file_name):
            return "mine.zip"

        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            path = Mine._get_pretrained_file(str(tmp_path / "root"), "mine.txt")
            self._load_embedding(path, " ", mx.nd.zeros)

    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "server").as_uri() + "/")
    assert embedding.create("mine").vec_len == 3
    assert (tmp_path / "root" / "mine" / "mine.txt").read_text() == LINES
    (server / "mine.zip").unlink()
    assert embedding.create("MINE").token_to_idx["b"] == 2
