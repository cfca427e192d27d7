"""What processes have written down: whether pushes were lost or came twice, and what they make."""

import collections
import json
import pathlib
import tempfile

import numpy

from headrace import kv, nd
from headrace.kvstore.states import set_states
from headrace.optimizer.state_io import load_states

from .training import Residual, array_of, gradient, is_sparse, optimizer_of, rows_of, shapes_of, zeros

Push = collections.namedtuple("Push", "key rank incarnation round")


class Life:
    """One start of the job, and what its processes did."""

    def __init__(self, folder, number):
        self.number = number
        self.starts = {}  # by (rank, incarnation): its first step
        self.ended = []  # those that came to the last
        for path in folder.glob(f"{number}-*.json"):
            _, rank, process = map(int, path.stem.split("-"))
            worker = rank, _incarnation(folder / "histories" / f"{number}-worker-{process}.history")
            told = json.loads(path.read_text())
            self.starts[worker] = told["start"]
            if told["has_ended"]:
                self.ended.append(worker)
        self.begun_from = folder / f"begin-{number}"  # a copy of a checkpoint, if it exists
        servers = [_lines(path) for path in sorted((folder / "histories").glob(f"{number}-server-*"))]
        self.servers = _last_to_serve(_with_copies(servers))
        workers = (folder / "histories").glob(f"{number}-worker-*")
        lines = [line for path in workers for line in _lines(path)]
        self.acknowledged = [push for what, push in lines if what == "acknowledged"]

    @property
    def applied(self):
        return [push for lines in self.servers for what, push in lines if what == "applied"]

    @property
    def frozen(self):
        """[(incarnation, request number) of worker 0, for each checkpoint that a server held still for]."""
        return [[tuple(told) for what, told in lines if what == "frozen"] for lines in self.servers]

    def segments(self):
        """For each server what was applied up to the first checkpoint, to the next, and so on. Those that did
        not come to all servers, because worker 0 was killed, are none.
        """
        numbered = [_numbered(lines) for lines in self.servers]
        marks = [{told for what, told in lines if what == "frozen"} for lines in numbered]
        common = set.intersection(*marks) if marks else set()
        split = []
        for lines in numbered:
            parts = [[]]
            for what, told in lines:
                if what == "applied":
                    parts[-1].append(told)
                elif told in common:
                    parts.append([])
            split.append(parts)
        return split


def _incarnation(history):
    """Of a worker; None: it has not joined."""
    return next((told[1] for what, told in _lines(history) if what == "joined"), None)


def _numbered(lines):
    """The lines of a server, with moments of checkpoints as (incarnation of worker 0, which of its own)."""
    counts = collections.Counter()
    numbered = []
    for what, told in lines:
        if what == "frozen":
            counts[told[0]] += 1
            told = told[0], counts[told[0]]
        numbered.append((what, told))
    return numbered


def _with_copies(processes):
    """The lines of processes; what one was told when it came later are those of the other up to there."""

    def lines_of(lines):
        for at, (what, told) in enumerate(lines):
            if what == "copied":
                begin = ("copying", told)
                before = next(other[: other.index(begin)] for other in processes if begin in other)
                return lines_of(before) + lines[at + 1 :]
        return lines

    kept = []
    for lines in processes:
        own = [line for line in lines if line[0] == "serving"]
        kept.append(own + [line for line in lines_of(lines) if line[0] in ("applied", "frozen")])
    return kept


def _last_to_serve(processes):
    """Of processes that have served one after the other as one server, the last: it knows what was applied
    before.
    """
    served = {}  # by server: (epoch, lines)
    for lines in processes:
        for what, told in lines:
            if what == "serving":
                served[told[0]] = max(served.get(told[0], (0, [])), (told[1], lines), key=lambda one: one[0])
    if not served:
        return processes
    return [[line for line in lines if line[0] != "serving"] for _, (_, lines) in sorted(served.items())]


def _lines(path):
    found = []
    for line in path.read_text().splitlines():
        what, *identity = line.split()
        numbers = list(map(int, identity))
        if what in ("joined", "serving", "backed", "copying", "copied", "frozen"):
            found.append((what, numbers))
        else:
            found.append((what, Push(*numbers[1:])))
    return found


class Replay:
    """One process that does what servers have done, one after the other."""

    def __init__(self, settings, weights=None, states=None):
        self._settings = settings
        self._store = kv.create("local")
        self._store.set_optimizer(optimizer_of(settings))
        self._shapes = shapes_of(settings)
        self._residuals = collections.defaultdict(Residual)  # by key and worker
        for key, shape in enumerate(self._shapes):
            self._store.init(key, _stored(key, weights[key]) if weights else zeros(key, shape))
        if states is not None:
            set_states(self._store.updater, states)

    def apply(self, pushes, starts):
        """Those of one key that count together."""
        values = [self._pushed(push, starts[push.rank, push.incarnation] + push.round) for push in pushes]
        self._store.push(pushes[0].key, values)

    def _pushed(self, push, step):
        values = gradient(self._settings, push.rank, push.key, step)
        if self._settings["compressed"]:
            values = self._residuals[push.key, push.rank, push.incarnation].sent_of(values)
        return array_of(push.key, values, rows_of(push.rank, step))

    def weights(self):
        outs = [zeros(key, shape) for key, shape in enumerate(self._shapes)]
        for key, out in enumerate(outs):
            if is_sparse(key):
                self._store.row_sparse_pull(key, out=out, row_ids=nd.arange(out.shape[0]))
            else:
                self._store.pull(key, out=out)
        return [out.asnumpy() for out in outs]

    def states(self):
        with tempfile.NamedTemporaryFile() as file:
            self._store.save_optimizer_states(file.name, dump_optimizer=True)
            return pathlib.Path(file.name).read_bytes()


def check(folder, settings):
    """AssertionError, saying which push and what is wrong with it. The last life has ended well."""
    count = 1 + max(int(path.stem.split("-")[0]) for path in folder.glob("*-*.json"))
    snapshots = []
    for number in range(count):
        life = Life(folder, number)
        is_last = number == count - 1
        check_order(life, settings)
        check_sets(life, settings, is_last)
        replay = _begin(life, settings, snapshots)
        snapshots += _replay(replay, life, settings, is_last)
    _check_end(folder, replay)
    begins_anew = count > 1 and settings["compressed"]  # without what was left out before
    if settings["kind"] == "dist_sync" and not begins_anew:  # whatever has happened
        _check_end(folder, _uninterrupted(settings))


def check_order(life, settings):
    """Each push of a worker is applied once, after those before it; rounds are whole."""
    seen = collections.defaultdict(int)
    rounds = collections.defaultdict(list)
    for push in life.applied:
        expected = seen[push.key, push.rank, push.incarnation]
        assert push.round == expected, f"life {life.number}: {push} is applied when {expected} is due"
        seen[push.key, push.rank, push.incarnation] += 1
        rounds[push.key].append((push.round, push.rank))
    if not settings["elastic"]:
        assert len({(rank, incarnation) for _, rank, incarnation in seen}) <= settings["workers"]
    if settings["kind"] == "dist_sync":
        for key, found in rounds.items():
            expected = [(one // settings["workers"], one % settings["workers"]) for one in range(len(found))]
            assert found == expected, f"life {life.number}: key {key} is updated in the order {found}"


def check_sets(life, settings, has_ended_well):
    """What was acknowledged is applied; where all ended well, what was pushed is both."""
    applied, acknowledged = collections.Counter(life.applied), collections.Counter(life.acknowledged)
    for requests in life.frozen:
        assert len(set(requests)) == len(requests), f"life {life.number}: held still twice: {requests}"
    for name, found in (("applied", applied), ("acknowledged", acknowledged)):
        twice = [push for push, times in found.items() if times > 1]
        assert not twice, f"life {life.number}: {name} twice: {twice}"
    if settings["kind"] == "dist_async":
        lost = acknowledged - applied
        assert not lost, f"life {life.number}: acknowledged and not applied: {sorted(lost)}"
    if has_ended_well and settings["elastic"]:
        _check_ends(life, settings, acknowledged, applied)
    elif has_ended_well:
        assert len(set(map(len, life.frozen))) <= 1, (
            f"servers held still for other checkpoints: {life.frozen}"
        )
        expected = {
            (key, rank, one)
            for key in range(len(shapes_of(settings)))
            for (rank, _), start in life.starts.items()
            for one in range(settings["steps"] - start)
        }
        for name, found in (("applied", applied), ("acknowledged", acknowledged)):
            pushes = {(push.key, push.rank, push.round) for push in found}
            assert pushes == expected, f"{name}: {sorted(pushes ^ expected)} are missing or too many"


def _check_ends(life, settings, acknowledged, applied):
    """Of workers that came to their last step all counts; the last one of each rank did."""
    assert {rank for rank, _ in life.ended} == set(range(settings["workers"])), life.ended
    for rank, incarnation in life.ended:
        steps = range(settings["steps"] - life.starts[rank, incarnation])
        expected = {
            Push(key, rank, incarnation, one) for key in range(len(shapes_of(settings))) for one in steps
        }
        for name, found in (("applied", applied), ("acknowledged", acknowledged)):
            pushes = {push for push in found if (push.rank, push.incarnation) == (rank, incarnation)}
            assert pushes == expected, f"{name}: {sorted(pushes ^ expected)} are missing or too many"


def _begin(life, settings, snapshots):
    """A replay of what a life began with: what servers held at a moment when a checkpoint was saved."""
    if not life.begun_from.exists():
        return Replay(settings)
    saved = [one.asnumpy() for one in nd.load(str(life.begun_from / "weights.params"))]
    for weights, states in reversed(snapshots):
        if all(numpy.array_equal(ours, theirs, equal_nan=True) for ours, theirs in zip(weights, saved)):
            return Replay(settings, weights, states)
    raise AssertionError(f"life {life.number} goes on from what no replay has come through")


def _replay(replay, life, settings, is_last):
    """[(weights, states)] at the moments when checkpoints were saved."""
    split = life.segments()
    together = settings["workers"] if settings["kind"] == "dist_sync" else 1
    whole = min(map(len, split), default=0)  # a server may have ended while others were asked to hold still
    snapshots = []
    for number in range(max(map(len, split), default=0) if is_last else whole):
        for parts in split:
            by_key = collections.defaultdict(list)
            for push in parts[number]:
                by_key[push.key].append(push)
            for pushes in by_key.values():
                for at in range(0, len(pushes), together):
                    replay.apply(pushes[at : at + together], life.starts)
        if number < whole - 1:
            snapshots.append((replay.weights(), replay.states()))
    return snapshots


def _stored(key, values):
    return nd.array(values).tostype("row_sparse" if is_sparse(key) else "default")


def _uninterrupted(settings):
    replay = Replay(settings)
    for step in range(settings["steps"]):
        for key in range(len(shapes_of(settings))):
            pushes = [Push(key, rank, 0, step) for rank in range(settings["workers"])]
            replay.apply(pushes, collections.defaultdict(int))
    return replay


def _arrays(moments):
    """Of what an optimizer keeps for a key: several, or one."""
    return moments if isinstance(moments, (list, tuple)) else (moments,)


def _check_end(folder, replay):
    with numpy.load(folder / "weights.npz") as saved:
        for ours, theirs in zip(replay.weights(), (saved[name] for name in saved.files)):
            numpy.testing.assert_array_equal(theirs, ours)
    ours, our_counts = load_states(replay.states())
    theirs, their_counts = load_states((folder / "end.states").read_bytes())
    assert ours.keys() == theirs.keys(), (ours.keys(), theirs.keys())
    for key, moments in ours.items():
        for one, other in zip(*map(_arrays, (moments, theirs[key]))):
            numpy.testing.assert_array_equal(other.asnumpy(), one.asnumpy())
    ours, theirs = our_counts._index_update_count, their_counts._index_update_count
    assert ours == theirs, f"update counts are {theirs}, and should be {ours}"
