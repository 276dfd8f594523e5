"""The ledger of a command: calls are written to it unless that is turned off, and a ledger that fails stops nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.client.observe import Observer
from dragoman.errors import UsageError
from dragoman.money.batch import Batch
from dragoman.money.ledger import Ledger, path_of
from dragoman.money.show import dollars, times


class Accounts:
    """What the calls of a command cost. `observers` are for its Model; call `close` when they have ended. With `many` they are
    written together, a moment later."""

    def __init__(self, env: Mapping[str, str], *, wanted: bool = True, many: bool = False) -> None:
        self.told = ""
        self._ledger: Ledger | None = None
        self._batch: Batch | None = None
        path = path_of(env) if wanted else None
        if path is None:
            return
        try:
            self._ledger = Ledger(path)
            self._batch = Batch(self._ledger) if many else None
        except (UsageError, OSError) as error:
            self.told = f"the calls are not in the ledger: {error}"

    @property
    def observers(self) -> Sequence[Observer]:
        """The ledger, where there is one."""
        return () if self._ledger is None else (self._batch or self._ledger,)

    def close(self) -> None:
        """Close the ledger; `told` is then a line about the cost, or empty where none is known."""
        if self._ledger is None:
            return
        with self._ledger as ledger:
            try:
                if self._batch is not None:
                    self._batch.close()
                sums = ledger.totals(session=ledger.session)
            except UsageError as error:
                self.told = error.message
                return
        if sums and sums[0].cost:
            whole = sums[0]
            cached = ""
            if whole.full_ratio is not None and whole.full > whole.computed:
                cached = f", {dollars(whole.full)} without a cache ({times(whole.full_ratio)})"
            self.told = f"{dollars(whole.cost)} {whole.label}{cached}"
