"""Classes that are found by their names: `register`, `alias` and `create` of a base class are made here."""

import json
import warnings

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]

_registries: dict = {}  # base class to {name in lower case: class}


def _registry(base_class):
    return _registries.setdefault(base_class, {})


def get_registry(base_class):
    """The classes that are registered for `base_class`, by name in lower case: a copy.

    Examples
    --------
    >>> class Shape:
    ...     pass
    >>> circle = mx.registry.get_register_func(Shape, "shape")(type("Circle", (Shape,), {}))
    >>> mx.registry.get_registry(Shape)["circle"] is circle
    True
    """
    return dict(_registry(base_class))


def enter(registry, klass, name, nickname):
    """Lets a name, in any case, mean `klass` in a dictionary of classes; gives the class. UserWarning, for
    the caller's caller: it meant another one before.

    Examples
    --------
    >>> shapes = {}
    >>> mx.registry.enter(shapes, dict, "Square", "shape")
    <class 'dict'>
    >>> list(shapes)
    ['square']
    """
    name = name.lower()
    known = registry.get(name, klass)
    if known is not klass:
        warnings.warn(
            f"New {nickname} {klass.__module__}.{klass.__name__} registered with name {name} is overriding "
            f"existing {nickname} {known.__module__}.{known.__name__}",
            stacklevel=3,
        )
    registry[name] = klass
    return klass


def get_register_func(base_class, nickname):
    """The class decorator `register(klass, name=None)` for subclasses of `base_class`.

    `create` then finds the class under `name`, by default its own, in any case. `nickname` is what messages
    call such classes. UserWarning: the name meant another class before. AssertionError: it is no subclass.

    Examples
    --------
    >>> class Shape:
    ...     pass
    >>> register = mx.registry.get_register_func(Shape, "shape")
    >>> @register
    ... class Square(Shape):
    ...     pass
    >>> list(mx.registry.get_registry(Shape))
    ['square']
    """
    registry = _registry(base_class)

    def register(klass, name=None):
        assert issubclass(klass, base_class), f"Can only register subclass of {base_class.__name__}"
        return enter(registry, klass, name or klass.__name__, nickname)

    register.__doc__ = (
        f"Lets `create` find the {nickname} class under `name`, by default its own; gives it back."
    )
    return register


def get_alias_func(base_class, nickname):
    """The function `alias(*names)`: a class decorator that lets `create` find the class by these names.

    Examples
    --------
    >>> class Shape:
    ...     pass
    >>> create = mx.registry.get_create_func(Shape, "shape")
    >>> @mx.registry.get_alias_func(Shape, "shape")("disc", "round")
    ... class Circle(Shape):
    ...     pass
    >>> type(create("round")).__name__
    'Circle'
    """
    register = get_register_func(base_class, nickname)

    def alias(*aliases):
        def register_all(klass):
            for name in aliases:
                register(klass, name)
            return klass

        return register_all

    alias.__doc__ = f"A class decorator that lets `create` find the {nickname} class under other names, too."
    return alias


def get_create_func(base_class, nickname):
    """The function `create(description, *args, **kwargs)`, which makes an object of a registered class.

    A description is a name, with the arguments after it; a JSON text `["name", {arguments}]`; a dictionary,
    or a JSON text of one, of the arguments and the name under the key `nickname`; or an object, which is
    given back. AssertionError: none of these, an unknown name, or arguments beside one that has its own.

    Examples
    --------
    >>> class Shape:
    ...     def __init__(self, size=1):
    ...         self.size = size
    >>> register = mx.registry.get_register_func(Shape, "shape")
    >>> square = register(type("Square", (Shape,), {}))
    >>> create = mx.registry.get_create_func(Shape, "shape")
    >>> create("square", size=3).size, create('["square", {"size": 5}]').size
    (3, 5)
    """
    registry = _registry(base_class)

    def create(*args, **kwargs):
        if args:
            name, *args = args
        elif nickname in kwargs:
            name = kwargs.pop(nickname)
        else:
            raise TypeError(
                f"create: expected the name of a {nickname} as the first argument, or {nickname}="
            )
        complete = isinstance(name, (base_class, dict)) or str(name)[:1] in ("[", "{")
        assert not complete or not (args or kwargs), (
            f"create: arguments beside {name!r}, which is a {nickname} with its arguments; leave them out"
        )
        if isinstance(name, base_class):
            return name
        if isinstance(name, dict):
            return create(**name)
        assert not isinstance(name, type), (
            f"{nickname} must be a name or an instance, got the class {name.__name__}; "
            f"write {name.__name__}()"
        )
        assert isinstance(name, str), f"{nickname} must be of string type, got {type(name).__name__}"
        if complete:
            described = json.loads(name)
            return create(described[0], **described[1]) if name[0] == "[" else create(**described)
        assert name.lower() in registry, (
            f"{name} is not registered. Please register with {nickname}.register first; "
            f"known: {', '.join(sorted(registry))}"
        )
        return registry[name.lower()](*args, **kwargs)

    create.__doc__ = f"A {nickname} from its name and arguments, from JSON, from a dictionary, or as it is."
    return create
