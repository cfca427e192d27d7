"""Heads of the commands by which workers tell servers something, or ask them; programs have those above 0."""

SET_OPTIMIZER = 0  # once, from all
SETTINGS, GET_STATES, SET_STATES = -1, -2, -3  # of the optimizer
FREEZE, THAW = -4, -5  # other workers wait; answered by what has been served
WORKER_STATES = -6  # answered by the states of workers that belong to what is stored
RESTORE, RESTORED, ASK_RESTORED = -7, -8, -9  # states of workers that come back; pushes wait in between
