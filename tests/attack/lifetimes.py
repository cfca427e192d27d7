"""What outlives its graph: names in profiles, arrays, gradients, errors and copies of networks."""

import gc

from child import Attack, Finding, check_error, execute, namespace
from oracles import drain

# Statements that are all right in any order: `nets` are two networks, `kept` is what outlives them.
LIVES = ("nets[{i}] = layers({kind!r})", "nets[{i}].hybridize()", "kept.append(nets[{i}](x))", "del kept[:]")
MOVES = (
    "nets[{i}].hybridize(False)",
    "kept += learn(nets[{i}], x)",
    "state = step(nets[{i}], state)",
    "nets[{i}] = copy.deepcopy(nets[{j}])",
    "nets[{i}] = pickle.loads(pickle.dumps(nets[{j}]))",
    "kept.append(nets[{i}](failed()))",
    "kept.append(nets[{i}](sym.var('data')))",
    "kept.append(nets[{i}](sym.var('data')).simple_bind(data=(2, 6)))",
    "kept.append([one.grad() for one in nets[{i}].collect_params().values() if one.grad_req != 'null'])",
    "nets[{i}].save_parameters('x.params'); nets[{i}].load_parameters('x.params')",
    "nets[{i}].collect_params().reset_ctx(mx.cpu())",
    "del kept[::2]",
    "gc.collect()",
    "profiler.set_state('run')",
    "profiler.set_state('stop')",
    "check_names(profiler.dumps())",
    "check_names(profiler.dumps(reset=True))",
    "profiler.dump(finished=False); check_names(open('lifetimes.json', errors='replace').read())",
)
BEGIN = (
    "nets, kept, x, state = [layers('dense'), layers('dense')], [], nd.ones((2, 6)), nd.ones((2, 6))",
    "profiler.set_config(filename='lifetimes.json', profile_all=True)",
    "profiler.set_state('run')",
)
END = (
    "profiler.set_state('stop')",
    "check_names(profiler.dumps(reset=True))",
    "read_all(kept)",
    "del nets, kept, x, state",
)


class Lifetimes(Attack):
    """Names, memory and errors of what outlives its graph, and copies of networks that have run."""

    programs = 150

    def start(self):
        execute("dense(6)(nd.ones((2, 6))).asnumpy()", namespace())

    def program(self, random, number):
        # Few kinds of moves in each program: then those that harm each other meet more often.
        kinds = [*LIVES, *random.sample(MOVES, random.randint(1, 5))]
        moves = []
        for _ in range(random.choice((5, 10, 20, 30))):
            kind = random.choice(("dense", "convolution", "normal", "loop"))
            moves.append(random.choice(kinds).format(i=random.randrange(2), j=random.randrange(2), kind=kind))
        times = random.choice((1, 1, 1, 10))
        body = [f"    {move}" for move in moves]
        begin = BEGIN if random.random() < 0.5 else BEGIN[:1]
        return "\n".join([*begin, f"for _ in range({times}):", *body, *END])

    def subject(self, text):
        return "lifetimes"

    def run(self, text):
        names = namespace()
        gc.collect()
        drain(names["mx"])
        before = _live(names["mx"])
        execute("profiler.set_state('stop'); profiler.dumps(reset=True)", names)
        taken = execute(text, names, _no_error)
        names.pop("_", None)
        gc.collect()
        drain(names["mx"])
        grown = _live(names["mx"]) - before
        if taken and grown > 0:
            raise Finding("growth", f"{grown} bytes live on after all that could reach them is gone")
        return taken


def _live(mx):
    return mx.memory_report(0).devices[0].live


def _no_error(error):
    """Finding: any error but that of `failed`, which any wait may raise, and of dumps before a recording."""
    if str(error).startswith(("take: index 9", "profiler.dump: nothing was recorded")):
        return
    check_error(error)
    raise Finding("error in a right program", f"{type(error).__name__}: {error}")


ATTACK = Lifetimes()
