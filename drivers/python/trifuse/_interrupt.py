"""Calls of the library that Ctrl-C stops."""

from __future__ import annotations

import threading
from typing import Callable, TypeVar

T = TypeVar("T")

PATIENCE = 0.6
"""Seconds that a cancelled call has for its end before the exception leaves it behind."""


def interruptible(call: Callable[[], T], cancel: Callable[[], None]) -> T:
    """Returns call(). An exception of a signal handler, such as KeyboardInterrupt, ends it within a second.

    Python runs signal handlers only in the main thread, and not while this thread is inside the library. So the main
    thread waits here, and another thread calls. `cancel` asks `call` to return soon. If `call` needs longer, it ends
    alone in its thread, where it also has to free what it uses, and the interpreter waits for it at its exit.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    outcome: list[T] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            outcome.append(call())
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=work, name="trifuse").start()
        done.wait()
    except BaseException:
        cancel()
        done.wait(PATIENCE)
        raise
    try:
        if failure:
            raise failure[0]
        return outcome[0]
    finally:
        failure.clear()  # no cycle of the exception and this frame, which would keep arrays alive
