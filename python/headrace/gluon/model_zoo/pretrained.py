"""Parameter files of trained networks, which users put into a folder."""

import os
from pathlib import Path

__all__ = ["DEFAULT_ROOT", "load_pretrained", "model_file"]

DEFAULT_ROOT = os.path.join(os.environ.get("MXNET_HOME", os.path.join("~", ".mxnet")), "models")


def model_file(name, root=DEFAULT_ROOT):
    """The path of the parameters of the network `name` in the folder `root`: `<name>-<hash>.params`, with the
    eight digits of MXNet's own files, or `<name>.params`. FileNotFoundError: neither is there.
    """
    folder = Path(root).expanduser()
    found = sorted(folder.glob(f"{name}-" + "[0-9a-f]" * 8 + ".params"))
    if (folder / f"{name}.params").is_file():
        found.append(folder / f"{name}.params")
    if not found:
        raise FileNotFoundError(
            f"pretrained network '{name}': expected its parameters in {folder / name}.params or "
            f"{folder / name}-<hash>.params, found neither; nothing is downloaded, so put a file written by "
            "save_parameters there, or pass the folder it is in as root"
        )
    return str(found[0])


def load_pretrained(net, pretrained, name, ctx, root):
    """`net` itself, with the parameters of the file of `name` when `pretrained` asks for them."""
    if pretrained:
        net.load_parameters(model_file(name, root), ctx=ctx)
    return net
