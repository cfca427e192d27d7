"""What stores of workers refuse, and commands to servers: asserts."""

import pytest

from headrace import kv, nd, optimizer
from headrace.base import MXNetError

store = kv.create("dist_sync")
assert (
    store.is_capable("distributed") and store.is_capable("optimizer") and not store.is_capable("asynchronous")
)
store._send_command_to_servers(7, "hello")
for refused in (lambda: store.set_updater(print), lambda: store.set_reduction("max")):
    with pytest.raises(MXNetError, match="on its servers|sums"):
        refused()
for needs_optimizer in (store.save_optimizer_states, store.load_optimizer_states):
    with pytest.raises(AssertionError, match="without an optimizer"):
        needs_optimizer("states")
store.set_optimizer(optimizer.SGD(learning_rate=0.5))
store.set_optimizer(optimizer.SGD(learning_rate=0.5))  # the same once more
with pytest.raises(MXNetError, match="another optimizer was given before"):
    store.set_optimizer(optimizer.Adam())
store.init(3, nd.ones((2,)))
with pytest.raises(MXNetError, match="duplicate init"):
    store.init(3, nd.ones((2,)))
with pytest.raises(MXNetError, match="key 4 has not been inited"):
    store.push(4, nd.ones((2,)))
with pytest.raises(ValueError, match=r"stored is shape \(2,\)"):
    store.push(3, nd.ones((3,)))
out = nd.zeros((2,))
store.pushpull(3, nd.ones((2,)), out=out)
assert out.asnumpy().tolist() == [1 - 0.5 * store.num_workers] * 2, out
other = kv.create("dist_async")  # a second store has keys of its own
other.set_optimizer(optimizer.SGD(learning_rate=1.0))
other.init(3, nd.zeros((2,)))
other.push(3, nd.ones((2,)))
other.pull(3, out=out)
out.wait_to_read()  # a barrier waits for workers, not for what they have pushed
store.barrier()
other.pull(3, out=out)
assert out.asnumpy().tolist() == [-float(store.num_workers)] * 2, out
assert store.num_dead_node == 0 and store.get_num_dead_node() == 0
print("all as it should be")
