"""Loggers that begin each line with level, time, process and place in the program."""

import logging
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]

_RED, _GREEN, _BLUE, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[34m", "\x1b[0m"
_LETTERS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}


class _Formatter(logging.Formatter):
    """`W1231 23:59:59 4711 program.py:main:12] message`, in colour up to the bracket."""

    def __init__(self):
        super().__init__(datefmt="%m%d %H:%M:%S")

    def formatMessage(self, record):  # noqa: N802
        colour = _RED if record.levelno >= WARNING else _GREEN if record.levelno >= INFO else _BLUE
        letter = _LETTERS.get(record.levelno, "U")
        time = self.formatTime(record, self.datefmt)
        place = f"{record.pathname}:{record.funcName}:{record.lineno}"
        return f"{colour}{letter}{time} {record.process} {place}]{_PLAIN} {record.message}"


def get_logger(name=None, filename=None, filemode=None, level=WARNING):
    r"""The logger of that name; None: the root logger, as it is.

    The first call for a name sets its level, and makes it write to the standard error stream, or to
    `filename` (opened with `filemode`, 'a' by default), where a line is the message alone.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "training.log")
    >>> logger = mx.log.get_logger("training.doc", filename=path, level=mx.log.INFO)
    >>> logger.info("epoch %d", 3)
    >>> with open(path) as file:
    ...     print(file.read())
    epoch 3
    """
    logger = logging.getLogger(name)
    if name is not None and not getattr(logger, "_init_done", False):
        logger._init_done = True
        if filename:
            handler = logging.FileHandler(filename, filemode or "a")
        else:
            handler = logging.StreamHandler()
            handler.setFormatter(_Formatter())
        logger.addHandler(handler)
        logger.setLevel(level)
    return logger


def getLogger(name=None, filename=None, filemode=None, level=WARNING):  # noqa: N802
    """Older name of get_logger.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     logger = mx.log.getLogger("training.old", level=mx.log.INFO)
    >>> logger.name
    'training.old'
    """
    warnings.warn("getLogger is deprecated, use get_logger instead", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
