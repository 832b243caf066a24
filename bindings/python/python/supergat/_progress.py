"""A progress line on standard error, in terminals and notebooks."""

from __future__ import annotations

import logging
import sys
import time
from types import TracebackType

log = logging.getLogger("supergat")


class Progress:
    """Line such as ``training:  40 % |####      | 4/10 seeds [epoch 120, validation 81.2 %, 3 s]``.

    While models are compared, it says which, and about how many seconds are left. ``show`` is ``True``, ``False``, or
    ``None`` for terminals and notebooks only; elsewhere, a comparison is logged once as a warning.
    """

    #: Seconds before the line is drawn for the first time.
    DELAY = 0.5

    def __init__(self, seeds: int, show: bool | None) -> None:
        self.seeds = seeds
        self.started = time.monotonic()
        self.width = 0
        self.announces = show is None
        if show is None:
            show = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        self.show = show

    def __call__(self, done: int, epoch: int, metric: float) -> None:
        """Draw the line; the extension calls this while it trains."""
        seconds = time.monotonic() - self.started
        share = done / self.seeds
        bar = "#" * int(10 * share)
        unit = "seed" if self.seeds == 1 else "seeds"
        line = (
            f"training: {100 * share:3.0f} % |{bar:<10}| {done}/{self.seeds} {unit} "
            f"[epoch {epoch}, validation {100 * metric:.1f} %, {seconds:.0f} s]"
        )
        self._draw(line)

    def choosing(self, names: str, run: int, runs: int, left: float | None) -> None:
        """Draw the line of a comparison; the extension calls this while it compares models."""
        if self.announces and not self.show and names:
            self.announces = False
            log.warning("comparing models on held-out nodes: %s; model= names one, choose_seconds= limits the time", names)
        remaining = f"{time.monotonic() - self.started:.0f} s" if left is None else f"about {left:.0f} s left"
        self._draw(f"comparing models: run {run}/{runs} [{remaining}; {names}]" if runs else f"comparing models [{remaining}]")

    def _draw(self, line: str) -> None:
        if not self.show or time.monotonic() - self.started < self.DELAY:
            return
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
