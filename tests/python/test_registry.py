"""Classes found by their names."""

import json

import pytest

import headrace as mx
from headrace import registry


@pytest.fixture
def fruit():
    """(base class, register, alias, create) of classes that are registered for one test."""

    class Fruit:
        def __init__(self, size=1, **kwargs):
            self.size, self.rest = size, kwargs

    makers = registry.get_register_func, registry.get_alias_func, registry.get_create_func
    return Fruit, *(make(Fruit, "fruit") for make in makers)


def test_names(fruit):
    Fruit, register, alias, create = fruit  # noqa: N806

    @register
    @alias("pome", "Malus")
    class Apple(Fruit):
        pass

    assert register(Apple, "other") is Apple
    for name in ("apple", "Apple", "POME", "malus", "other"):
        assert type(create(name)) is Apple
    assert create("apple", 3).size == create("apple", size=3).size == create(fruit="apple", size=3).size == 3
    assert set(registry.get_registry(Fruit)) == {"apple", "pome", "malus", "other"}
    registry.get_registry(Fruit).clear()
    assert len(registry.get_registry(Fruit)) == 4
    with pytest.raises(AssertionError, match="pear is not registered.*known: apple, malus"):
        create("pear")
    with pytest.raises(AssertionError, match="subclass of Fruit"):
        register(int)
    with pytest.raises(AssertionError, match="must be of string type, got int"):
        create(3)
    with pytest.raises(TypeError, match="fruit="):
        create()


def test_descriptions(fruit):
    Fruit, register, _, create = fruit  # noqa: N806
    register(Fruit)
    for described in (
        '["fruit", {"size": 4}]',
        '{"fruit": "fruit", "size": 4}',
        {"fruit": "fruit", "size": 4},
        {"fruit": json.dumps(["fruit", {"size": 4}])},
    ):
        made = create(described)
        assert type(made) is Fruit and made.size == 4
        assert create(made) is made
        for given in (described, made):
            with pytest.raises(AssertionError, match="leave them out"):
                create(given, 5)


def test_a_name_changes_its_meaning(fruit):
    Fruit, register, _, create = fruit  # noqa: N806

    def define():
        return register(type("Plum", (Fruit,), {}))

    first = define()
    register(first)  # the same class again: nothing to say
    with pytest.warns(UserWarning, match="New fruit .*Plum registered with name plum is overriding"):
        second = define()
    assert type(create("plum")) is second is not first


def test_what_is_there_is_registered():
    assert registry.get_registry(mx.init.Initializer)["zeros"] is mx.init.Zero
    assert registry.get_registry(mx.metric.EvalMetric)["acc"] is mx.metric.Accuracy
    accuracy = mx.metric.create("acc", axis=0)
    again = mx.metric.create(accuracy.get_config())
    assert type(again) is mx.metric.Accuracy and again.axis == 0
    assert mx.init.create('{"initializer": "constant", "value": 3}') == mx.init.Constant(3)

    @mx.init.alias("test_registry_two")
    class Two(mx.init.Constant):
        def __init__(self):
            super().__init__(2)

    assert type(mx.init.create("test_registry_two")) is Two
