"""Calls of the library that Ctrl-C stops."""

from __future__ import annotations

import threading
from typing import Callable, TypeVar

T = TypeVar("T")


def interruptible(call: Callable[[], T], cancel: Callable[[], None] | None = None) -> T:
    """Returns call(). An exception of a signal handler, such as KeyboardInterrupt, ends it early.

    Python runs signal handlers only in the main thread, and not while this thread is inside the library. So the main
    thread waits here, and another thread calls. `cancel` must make `call` return soon; then this function waits for it
    and raises the exception. Without `cancel` the exception comes at once, and the other thread goes on alone until
    `call` returns.
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

    thread = threading.Thread(target=work, name="trifuse", daemon=True)
    interrupt: BaseException | None = None
    while True:
        try:
            if thread.ident is None and interrupt is None:
                thread.start()
            done.wait()
            break
        except BaseException as error:
            interrupt = interrupt or error
            if cancel is not None:
                cancel()
            if cancel is None or thread.ident is None:
                raise
    try:
        if interrupt is not None:
            raise interrupt
        if failure:
            raise failure[0]
        return outcome[0]
    finally:
        failure.clear()  # no cycle of the exception and this frame, which would keep arrays alive
