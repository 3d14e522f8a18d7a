"""Calls that are due at a steady rate, and how long each takes from the moment it is due."""

import resource
import threading
import time

import grpc


def cpu_seconds() -> float:
    """The CPU time of the process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Probe:
    """Makes a call whenever one is due, in a thread of its own."""

    def __init__(self, call: grpc.UnaryUnaryMultiCallable, interval_ms: float) -> None:
        self.call = call
        self.interval = interval_ms / 1000
        self.lock = threading.Lock()
        self.pending: dict[int, float] = {}
        self.slowest = 0.0
        self.calls = 0
        self.failed = 0
        self.cpu = cpu_seconds()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        due = time.monotonic()
        number = 0
        while True:
            due += self.interval
            time.sleep(max(0, due - time.monotonic()))
            number += 1
            with self.lock:
                self.pending[number] = due
            future = self.call.future(b"", wait_for_ready=True)
            future.add_done_callback(lambda ended, which=number: self.end(which, ended))

    def end(self, number: int, ended: grpc.Future) -> None:
        with self.lock:
            self.calls += 1
            if ended.exception() is not None:
                self.failed += 1
            taken = time.monotonic() - self.pending.pop(number)
            self.slowest = max(self.slowest, taken)

    def measured(self) -> dict:
        """Returns what was measured since the last result, and begins the next one."""
        with self.lock:
            now = time.monotonic()
            for due in self.pending.values():
                self.slowest = max(self.slowest, now - due)
            cpu = cpu_seconds()
            result = {
                "slowestMs": self.slowest * 1000,
                "calls": self.calls,
                "failed": self.failed,
                "cpuMs": (cpu - self.cpu) * 1000,
            }
            self.slowest, self.calls, self.failed, self.cpu = 0.0, 0, 0, cpu
            return result
