"""ThreadFlag: what holds in a thread for the length of a block."""

import contextlib
import threading


class ThreadFlag(threading.local):
    """`with flag.raised():` sets `is_set` in the calling thread; behind it `is_set` is what it was before."""

    is_set = False

    @contextlib.contextmanager
    def raised(self):
        before, self.is_set = self.is_set, True
        try:
            yield
        finally:
            self.is_set = before
