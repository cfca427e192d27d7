"""Networks as files that SymbolBlock.imports, Module and MXNet read: a symbol and its parameters."""

from .. import _arrays as arrays

__all__ = ["write_network"]


def write_network(symbol, parameters, path, epoch, remove_amp_cast):
    """Writes `path-symbol.json` and `path-0000.params` (`epoch` with four digits): of `parameters` (by name)
    those that `symbol` reads, each as an argument or an auxiliary state.
    """
    symbol.save(f"{path}-symbol.json", remove_amp_cast)
    auxiliary = set(symbol.list_auxiliary_states())
    arguments = set(symbol.list_arguments())
    saved = {}
    for name, param in parameters.items():
        if name in auxiliary or name in arguments:
            saved[f"{'aux' if name in auxiliary else 'arg'}:{name}"] = param._reduce()
    arrays.save(f"{path}-{epoch:04d}.params", saved)
