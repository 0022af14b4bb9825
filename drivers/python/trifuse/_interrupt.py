"""Calls of the library, which Ctrl-C stops."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Callable, TypeVar

T = TypeVar("T")

PATIENCE = 0.6
"""Seconds to wait for the end of a cancelled call before the exception is raised."""


def _new_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(64, thread_name_prefix="trifuse")


_THREADS = _new_threads()
"""Threads of calls from the main thread. A thread that is idle takes the next call, with the threads of OpenMP that
belong to it. Threads are started at the first call."""


def _forget_threads() -> None:
    """A forked process has none of the threads. With a new executor the library is called, which says what to do."""
    global _THREADS
    _THREADS = _new_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def interruptible(call: Callable[[], T], cancel: Callable[[], None]) -> T:
    """Returns call(). An exception of a signal handler, such as KeyboardInterrupt, ends it within a second.

    Python runs signal handlers only in the main thread, and not while this thread is inside the library. So the main
    thread waits here, and another thread calls. `cancel` asks `call` to return soon. If `call` needs longer, it
    continues in its thread after the exception, and must free there what it uses. The interpreter waits for it at exit.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    running = _THREADS.submit(call)
    try:
        wait([running])
    except BaseException:
        cancel()
        wait([running], PATIENCE)
        raise
    try:
        return running.result()
    finally:
        del running, call  # no cycle of the exception and this frame, which would keep arrays alive
