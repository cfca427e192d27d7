"""Heads of the commands by which workers tell servers something, or ask them; programs have those above 0.

What they mean src/distributed/commands.h says.
"""

from .. import _core

_heads = _core.distributed.commands
SET_OPTIMIZER, SETTINGS = _heads["SET_OPTIMIZER"], _heads["SETTINGS"]
GET_STATES, SET_STATES, RESTORE_STATES = (
    _heads[name] for name in ("GET_STATES", "SET_STATES", "RESTORE_STATES")
)
FREEZE, THAW, WORKER_STATES = _heads["FREEZE"], _heads["THAW"], _heads["WORKER_STATES"]
RESTORE, RESTORED, ASK_RESTORED = _heads["RESTORE"], _heads["RESTORED"], _heads["ASK_RESTORED"]
GET_SETTINGS, HAS_RESTORED = _heads["GET_SETTINGS"], _heads["HAS_RESTORED"]
PROFILE, GET_SCALE = _heads["PROFILE"], _heads["GET_SCALE"]
