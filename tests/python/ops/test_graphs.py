"""Operators on graphs: csr matrices of the numbers of edges."""

import numpy
import pytest

import headrace
from headrace import nd
from headrace.base import MXNetError

RNG = numpy.random.RandomState(4)
SIZE = 40


@pytest.fixture(scope="module")
def graph():
    """A graph and where its edges are."""
    there = RNG.rand(SIZE, SIZE) < 0.3
    begin = numpy.concatenate([[0], there.sum(1).cumsum()])
    numbers = numpy.arange(1, begin[-1] + 1)
    matrix = nd.sparse.csr_matrix((numbers, numpy.where(there)[1], begin), shape=(SIZE, SIZE), dtype="int64")
    edges = numpy.zeros((SIZE, SIZE), "int64")
    edges[there] = numbers
    return matrix, edges


def vertices(*numbers):
    return nd.array(numbers, dtype="int64")


def test_numbers_of_edges(graph):
    matrix, edges = graph
    u, v = RNG.randint(0, SIZE, 30), RNG.randint(0, SIZE, 30)
    got = nd.contrib.edge_id(matrix, nd.array(u), nd.array(v))
    assert got.dtype == numpy.int64
    numpy.testing.assert_array_equal(got.asnumpy(), numpy.where(edges[u, v] > 0, edges[u, v], -1))


def test_adjacency(graph):
    matrix, edges = graph
    got = nd.contrib.dgl_adjacency(matrix)
    assert (got.stype, got.dtype) == ("csr", numpy.float32)
    numpy.testing.assert_array_equal(got.asnumpy(), edges > 0)


def test_parts_are_numbered_anew_or_keep_their_numbers(graph):
    matrix, edges = graph
    sets = [numpy.unique(RNG.randint(0, SIZE, count)) for count in (12, 5)]
    arrays = [vertices(*one) for one in sets]
    results = nd.contrib.dgl_subgraph(matrix, *arrays, return_mapping=True)
    assert len(results) == 4
    for one, fresh, kept in zip(sets, results[:2], results[2:]):
        expected = edges[numpy.ix_(one, one)]
        numpy.testing.assert_array_equal(kept.asnumpy(), expected)
        numpy.testing.assert_array_equal(fresh.indices.asnumpy(), kept.indices.asnumpy())
        numpy.testing.assert_array_equal(fresh.indptr.asnumpy(), kept.indptr.asnumpy())
        numpy.testing.assert_array_equal(fresh.data.asnumpy(), numpy.arange((expected > 0).sum()))
    alone = nd.contrib.dgl_subgraph(matrix, arrays[0], return_mapping=False)
    numpy.testing.assert_array_equal(alone.asnumpy(), results[0].asnumpy())


def check_sample(edges, seeds, hops, neighbours, most, ids, part, layers):
    """A sample has its seeds, at most so many vertices and edges, and edges of the graph alone."""
    count = ids[most]
    chosen, rows = ids[:count], part.asnumpy()
    assert set(seeds) <= set(chosen)
    assert (numpy.diff(chosen) > 0).all()
    assert (layers[:count] <= hops).all()
    assert set(chosen[layers[:count] == 0]) == set(seeds)
    assert rows.shape == (most, SIZE)
    assert not rows[count:].any()
    taken = rows[:count]
    numpy.testing.assert_array_equal(taken[taken > 0], edges[chosen][taken > 0])
    degrees = (edges[chosen] > 0).sum(1)
    used = (taken > 0).sum(1)
    numpy.testing.assert_array_equal(used[used > 0], numpy.minimum(degrees, neighbours)[used > 0])


@pytest.mark.parametrize(
    "seeds, hops, neighbours, most",
    [((0, 3, 7), 2, 3, 40), ((5,), 3, 2, 30), ((5, 5, 1), 1, 8, 40), ((2,), 0, 1, 3)],
)
def test_samples_of_neighbourhoods(graph, seeds, hops, neighbours, most):
    matrix, edges = graph
    settings = {"num_hops": hops, "num_neighbor": neighbours, "max_num_vertices": most}
    ids, part, layers = nd.contrib.dgl_csr_neighbor_uniform_sample(matrix, vertices(*seeds), **settings)
    check_sample(edges, seeds, hops, neighbours, most, ids.asnumpy(), part, layers.asnumpy())
    probability = RNG.rand(SIZE).astype("float32")
    ids, part, weights, layers = nd.contrib.dgl_csr_neighbor_non_uniform_sample(
        matrix, nd.array(probability), vertices(*seeds), **settings
    )
    ids = ids.asnumpy()
    check_sample(edges, seeds, hops, neighbours, most, ids, part, layers.asnumpy())
    count = ids[most]
    numpy.testing.assert_array_equal(weights.asnumpy()[:count], probability[ids[:count]])


def test_several_sets_of_seeds(graph):
    results = nd.contrib.dgl_csr_neighbor_uniform_sample(
        graph[0], vertices(1), vertices(2, 3), max_num_vertices=9
    )
    assert [one.stype for one in results] == ["default"] * 2 + ["csr"] * 2 + ["default"] * 2
    assert results[1].asnumpy()[:9].tolist().count(2) == 1


@pytest.mark.parametrize("generator", ["philox", "mt19937"])
def test_samples_follow_the_seed(graph, generator):
    def sample():
        return nd.contrib.dgl_csr_neighbor_uniform_sample(graph[0], vertices(1, 2), max_num_vertices=30)[
            1
        ].asnumpy()

    headrace.random.set_generator(generator)
    try:
        headrace.random.seed(3)
        first, second = sample(), sample()
        headrace.random.seed(3)
        numpy.testing.assert_array_equal(sample(), first)
        assert (first != second).any()
    finally:
        headrace.random.set_generator("philox")


def sample_by(matrix, probability):
    return nd.contrib.dgl_csr_neighbor_non_uniform_sample(
        matrix, probability, vertices(0), num_neighbor=3, max_num_vertices=10
    )


def test_edges_are_as_likely_as_where_they_lead(graph):
    matrix, edges = graph
    ends = numpy.flatnonzero(edges[0])
    probability = numpy.zeros(SIZE, "float32")
    probability[ends[[1, 3, 4]]] = 1
    for weights, expected in ((probability, ends[[1, 3, 4]]), (numpy.zeros(SIZE, "float32"), ends[:3])):
        part = sample_by(matrix, nd.array(weights))[1]
        numpy.testing.assert_array_equal(part.indices.asnumpy(), expected)


def test_compact_graphs_have_the_vertices_alone(graph):
    ids, part, _ = nd.contrib.dgl_csr_neighbor_uniform_sample(graph[0], vertices(1, 2), max_num_vertices=30)
    count = int(ids[-1].asscalar())
    fresh, kept = nd.contrib.dgl_graph_compact(part, ids, graph_sizes=(count,), return_mapping=True)
    chosen = ids.asnumpy()[:count]
    numpy.testing.assert_array_equal(kept.asnumpy(), part.asnumpy()[:count][:, chosen])
    numpy.testing.assert_array_equal(fresh.data.asnumpy(), numpy.arange(part.data.size))


@pytest.mark.parametrize(
    "error, call",
    [
        (MXNetError, lambda g: nd.contrib.edge_id(nd.ones((2, 2)), nd.ones(1), nd.ones(1)).asnumpy()),
        (MXNetError, lambda g: nd.contrib.edge_id(g, nd.ones(1), nd.ones(2))),
        (IndexError, lambda g: nd.contrib.edge_id(g, nd.array([SIZE]), nd.array([0])).asnumpy()),
        (IndexError, lambda g: nd.contrib.edge_id(g, nd.array([-1]), nd.array([0])).asnumpy()),
        (MXNetError, lambda g: nd.contrib.dgl_adjacency(g.astype("float32"))),
        (MXNetError, lambda g: nd.contrib.dgl_subgraph(g, nd.ones(1), return_mapping=False)),
        (ValueError, lambda g: nd.contrib.dgl_subgraph(g, vertices(2, 1), return_mapping=False).asnumpy()),
        (IndexError, lambda g: nd.contrib.dgl_subgraph(g, vertices(SIZE), return_mapping=False).asnumpy()),
        (MXNetError, lambda g: nd.contrib.dgl_subgraph(g, return_mapping=False)),
        (
            MXNetError,
            lambda g: nd.contrib.dgl_csr_neighbor_uniform_sample(g, vertices(1, 2), max_num_vertices=1),
        ),
        (IndexError, lambda g: nd.contrib.dgl_csr_neighbor_uniform_sample(g, vertices(SIZE))[0].asnumpy()),
        (MXNetError, lambda g: sample_by(g, nd.ones(3))),
        (
            ValueError,
            lambda g: sample_by(g, -nd.ones(SIZE))[0].asnumpy(),
        ),
        (
            MXNetError,
            lambda g: nd.contrib.dgl_graph_compact(g, vertices(1), graph_sizes=(1,), return_mapping=False),
        ),
    ],
)
def test_what_is_no_graph_is_refused(graph, error, call):
    with pytest.raises(error):
        call(graph[0])
