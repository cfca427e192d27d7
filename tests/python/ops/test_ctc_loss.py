"""CTC loss against the sum over all alignments; its gradient, lengths, layouts, what is refused."""

import itertools

import numpy
import pytest

from headrace import autograd, gluon, nd, np, npx
from headrace.base import MXNetError

RANDOM = numpy.random.RandomState(5)


def collapsed(path, blank):
    """What a path of classes spells: repetitions once, blanks never."""
    return [one for one, _ in itertools.groupby(path) if one != blank]


def expected_loss(scores, label, blank):
    """Minus the logarithm of the sum over all paths that spell the label; `scores` are (time, classes)."""
    chances = numpy.exp(scores) / numpy.exp(scores).sum(1, keepdims=True)
    total = sum(
        numpy.prod([chances[t, k] for t, k in enumerate(path)])
        for path in itertools.product(range(scores.shape[1]), repeat=len(scores))
        if collapsed(path, blank) == label
    )
    return -numpy.log(total)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(
    "blank, labels", [("first", [[1, 2], [3, 3], [2, 0]]), ("last", [[0, 2], [1, 1], [2, -1]])]
)
def test_is_the_sum_over_alignments(blank, labels, dtype):
    scores = RANDOM.uniform(-1, 1, (4, 3, 4)).astype(dtype)
    loss = nd.CTCLoss(nd.array(scores, dtype=dtype), nd.array(labels), blank_label=blank)
    number, padding = (0, 0) if blank == "first" else (3, -1)
    expected = [
        expected_loss(scores[:, n].astype("float64"), [k for k in label if k != padding], number)
        for n, label in enumerate(labels)
    ]
    assert loss.shape == (3,)
    numpy.testing.assert_allclose(loss.asnumpy(), expected, rtol=2e-3 if dtype == "float16" else 1e-5)


def test_lengths_cut_sequences_and_labels():
    scores = RANDOM.uniform(-1, 1, (4, 2, 3))
    x = nd.array(scores, dtype="float64")
    x.attach_grad()
    with autograd.record():
        loss = nd.ctc_loss(
            x,
            nd.array([[1, 2], [2, 1]]),
            nd.array([3, 4]),
            nd.array([2, 1]),
            use_data_lengths=True,
            use_label_lengths=True,
        )
    loss.backward()
    expected = [expected_loss(scores[:3, 0], [1, 2], 0), expected_loss(scores[:, 1], [2], 0)]
    numpy.testing.assert_allclose(loss.asnumpy(), expected, rtol=1e-10)
    assert (x.grad.asnumpy()[3, 0] == 0).all()
    assert (x.grad.asnumpy()[3, 1] != 0).all()


def test_label_lengths_alone_do_not_shift():
    scores, labels = nd.array(RANDOM.uniform(-1, 1, (4, 2, 3))), nd.array([[1, 2], [2, 1]])
    by_place = nd.CTCLoss(scores, labels, None, nd.array([1, 2]), use_label_lengths=True)
    by_name = nd.CTCLoss(scores, labels, label_lengths=nd.array([1, 2]), use_label_lengths=True)
    padded = nd.CTCLoss(scores, nd.array([[1, 0], [2, 1]]))
    assert by_place.asnumpy().tolist() == by_name.asnumpy().tolist() == padded.asnumpy().tolist()


def test_labels_that_do_not_fit_cost_nothing():
    x = nd.array(RANDOM.uniform(-1, 1, (3, 1, 3)))
    x.attach_grad()
    with autograd.record():
        loss = nd.CTCLoss(x, nd.array([[1, 1, 1]]))
    loss.backward()
    assert loss.asnumpy().tolist() == [0]
    assert not x.grad.asnumpy().any()


def test_what_does_not_fit_is_named():
    with pytest.raises(MXNetError, match="max number of labels"):
        nd.CTCLoss(nd.ones((2, 1, 3)), nd.ones((1, 3)))
    with pytest.raises(MXNetError, match="labels of shape"):
        nd.CTCLoss(nd.ones((2, 1, 3)), nd.ones((2, 2)))
    with pytest.raises(MXNetError, match="class of the blank"):
        nd.CTCLoss(nd.ones((2, 1, 0)), nd.ones((1, 2)))
    with pytest.raises(TypeError, match="3 arrays are needed"):
        nd.CTCLoss(nd.ones((2, 1, 3)), nd.ones((1, 1)), use_label_lengths=True)
    with pytest.raises(ValueError, match="classes from 0 to 2"):
        nd.CTCLoss(nd.ones((2, 1, 3)), nd.array([[5]])).asnumpy()


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("layout, label_layout", [("NTC", "NT"), ("TNC", "TN")])
def test_gluon_loss(layout, label_layout, hybridize):
    scores, labels = (
        RANDOM.uniform(-1, 1, (2, 5, 4)).astype("float32"),
        numpy.array([[0, 2, -1], [1, 1, 2]], "float32"),
    )
    expected = [expected_loss(scores[0], [0, 2], 3), expected_loss(scores[1], [1, 1, 2], 3)]
    if layout == "TNC":
        scores, labels = scores.swapaxes(0, 1), labels.T
    expected = 2 * numpy.array(expected)
    for lengths in [], [None, nd.array([2, 3])]:
        loss = gluon.loss.CTCLoss(layout, label_layout, weight=2)
        if hybridize:
            loss.hybridize()
        result = loss(nd.array(scores), nd.array(labels), *lengths)
        numpy.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-5)


def test_np_arrays():
    x, label = np.array(RANDOM.uniform(-1, 1, (3, 1, 3))), np.array([[1, 2]])
    assert npx.ctc_loss(x, label).asnumpy() == nd.CTCLoss(x.as_nd_ndarray(), label.as_nd_ndarray()).asnumpy()
