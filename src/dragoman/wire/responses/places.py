"""What a server's numbers of parts mean: places to itself alone, since some count from one, leave some out or far away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class Summary:
    """The parts of one summary under numbers of ours: the first that is heard of is 0, the others lie as far from it as
    their server says, and no two are one."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._taken: set[int] = set()
        self._last = -1
        self._dones = 0

    def part(self, number: int) -> int:
        """Our number of a part; one never heard of begins."""
        if number not in self._numbers:
            part = number - next(iter(self._numbers), number)
            if part < 0 or part in self._taken:
                part = self._last + 1
            self._numbers[number] = part
            self._taken.add(part)
            self._last = max(self._last, part)
        return self._numbers[number]

    def done(self, number: int) -> int | None:
        """Our number of a part that is said whole. None for one never heard of while others wait for their end: it may
        be one of those, counted otherwise, and the finished item says what is left."""
        self._dones += 1
        if number not in self._numbers and len(self._numbers) >= self._dones:
            return None
        return self.part(number)


def placed(told: Mapping[int, int], sizes: Sequence[int]) -> list[int]:
    """The number of each part of a whole, new ones for those that were not told.

    `told` has how much was said of each number, `sizes` how long the parts are. A number is taken for the place where the
    lengths bear it out, counted from nought or from the first; else the order counts.
    """
    spoken = [number for number in sorted(told) if told[number]]
    wholes = [at for at, size in enumerate(sizes) if size]
    first = min(told, default=0)
    ways = [spoken, [number - first for number in spoken], wholes, wholes[max(len(wholes) - len(spoken), 0) :]]
    lengths = [told[number] for number in spoken]

    def bears(way: Sequence[int], *, exact: bool) -> bool:
        if len(way) < len(spoken) or not all(0 <= at < len(sizes) for at in way[: len(spoken)]):
            return False
        pairs = [(length, sizes[at]) for length, at in zip(lengths, way, strict=False)]
        return all(length == size if exact else length <= size for length, size in pairs)

    way = next((way for exact in (True, False) for way in ways if bears(way, exact=exact)), wholes)
    found = dict(zip(way, spoken, strict=False))
    silent = iter([number for number in sorted(told) if not told[number]])
    last, before, numbers = max(told, default=first - 1), first - 1, list[int]()
    used = set(spoken)
    for at in range(len(sizes)):
        number = found.get(at)
        if number is None:
            number = next(silent, before + 1)
        if at not in found and number in used:
            number = last + 1
        used.add(number)
        last, before = max(last, number), number
        numbers.append(number)
    return numbers
