"""What JAX compiles as a whole: chains of pointwise operations, a small network, a training step."""

import jax
import jax.numpy as jnp
import numpy


def small_mlp():
    random = numpy.random.default_rng(0)
    sizes = [512, 256, 128, 2]
    layers = [
        (jnp.asarray(random.normal(size=(n, m)), jnp.float32), jnp.zeros(m, jnp.float32))
        for n, m in zip(sizes, sizes[1:])
    ]
    x = jnp.asarray(random.normal(size=(1, 512)), jnp.float32)

    @jax.jit
    def forward(layers, x):
        for number, (weight, bias) in enumerate(layers):
            x = x @ weight + bias
            if number + 1 < len(layers):
                x = jax.nn.relu(x)
        return x

    return lambda: forward(layers, x).block_until_ready()


def chain(count, compiled):
    def forward(x):
        for _ in range(5):
            x = x * 1.01 + 0.5
        return x

    call = jax.jit(forward) if compiled else forward
    x = jnp.ones(count, jnp.float32)
    return lambda: call(x).block_until_ready()


def chain_gradient(count):
    def forward(x):
        for _ in range(5):
            x = jnp.tanh(x * 1.01 + 0.5)
        return x.sum()

    call = jax.jit(jax.grad(forward))
    x = jnp.ones(count, jnp.float32)
    return lambda: call(x).block_until_ready()


def linear():
    random = numpy.random.default_rng(0)
    x = jnp.asarray(random.normal(size=(10, 2)), jnp.float32)
    y = jnp.asarray(random.normal(size=(10, 1)), jnp.float32)
    parameters = (jnp.zeros((2, 1), jnp.float32), jnp.zeros(1, jnp.float32))

    def loss(parameters):
        weight, bias = parameters
        return jnp.mean((x @ weight + bias - y) ** 2 / 2)

    @jax.jit
    def step(parameters):
        return jax.tree.map(lambda p, g: p - 0.03 * g, parameters, jax.grad(loss)(parameters))

    state = [parameters]

    def run():
        state[0] = jax.block_until_ready(step(state[0]))

    return run


CASES = {
    "MLP 512-256-128-2, batch 1, hybridized": small_mlp,
    **{
        f"10 pointwise operations, {count:.0e} floats, {mode}": lambda c=count, m=mode: chain(
            int(c), m == "hybridized"
        )
        for count in (1e3, 1e5, 1.6e7)
        for mode in ("eager", "hybridized")
    },
    **{
        f"15 pointwise operations with gradient, {count:.0e} floats, hybridized": lambda c=count: (
            chain_gradient(int(c))
        )
        for count in (1e3, 1e5, 1.6e7)
    },
    "linear regression step, batch 10, hybridized": linear,
}
