"""Rules that programs derive from those of the package."""

import pytest

from headrace import nd, optimizer


def updates(rule, count):
    """What the rule takes off `count` zeros with gradients of 1."""
    weights = [nd.zeros((1,)) for _ in range(count)]
    optimizer.get_updater(rule)(list(range(count)), [nd.ones((1,)) for _ in weights], weights)
    return [-weight.asscalar() for weight in weights]


@pytest.mark.parametrize("kind", [optimizer.Adam, optimizer.NAG])
def test_rules_of_programs_are_asked_for_each_parameter(kind):
    class Own(kind):
        def _get_lr(self, index):
            return float(index)

        def _get_wd(self, index):
            return 0.0

    assert updates(Own(wd=0.5), 3) == pytest.approx([0, 1, 2], rel=1e-4)


def test_rules_of_programs_are_asked_for_as_many_as_they_aggregate():
    class Own(optimizer.SGD):
        asked = ()

        def _get_lrs(self, indices):
            self.asked = (*self.asked, list(indices))
            return [0.5 for _ in range(self.aggregate_num)]

    rule = Own()
    assert updates(rule, 6) == [0.5] * 6
    assert rule.asked == ([0, 1, 2, 3], [4, 5])
    rule = Own()
    rule.aggregate_num = 1
    assert updates(rule, 2) == [0.5] * 2 and rule.asked == ([0], [1])


def test_programs_override_what_updates_lists():
    class Setting(optimizer.SGD):
        def _update_impl(self, indices, weights, grads, states, multi_precision=False):
            calls.append((list(indices), multi_precision))
            weights[0][:] = 42

    calls, weight = [], nd.ones((2,))
    optimizer.get_updater(Setting(learning_rate=0.1))(7, nd.ones((2,)), weight)
    assert weight.asnumpy().tolist() == [42, 42] and calls == [([7], False)]
