"""Calls of the library, which Ctrl-C stops."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Callable, TypeVar

T = TypeVar("T")

PATIENCE = 0.6
"""Seconds to wait for the end of a cancelled call before the exception is raised."""


_THREADS = ThreadPoolExecutor(64, thread_name_prefix="trifuse")
"""Threads of calls from the main thread. A thread that is idle takes the next call, with the threads of OpenMP that
belong to it. Threads are started at the first call."""


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
