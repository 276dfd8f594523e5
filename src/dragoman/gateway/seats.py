"""Who answers: one model under any name, or several, picked by the name that the client asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dragoman.client import AsyncModel
from dragoman.errors import ApiDetail, ApiError, UsageError

LATEST = ":latest"  # which some clients add to the name of a model that has no version


class Seats:
    """The models that are served. `any_name` is the one for whatever name is asked for, if there is such a one."""

    def __init__(self, models: Mapping[str, AsyncModel], *, any_name: bool = False) -> None:
        self.models = dict(models)
        self._only = next(iter(self.models.values())) if any_name else None

    @classmethod
    def of(cls, said: Sequence[str], make: Callable[[str], AsyncModel]) -> Seats:
        """The seats of `--model SPEC`, or of several `--model NAME=SPEC`. Raises UsageError for a name said twice."""
        named = [split(each) for each in said]
        if not named:
            raise UsageError("usage", "serve needs a model: --model SPEC, or several --model NAME=SPEC")
        names = [name for name, _ in named]
        if twice := [name for name in names if names.count(name) > 1]:
            raise UsageError("usage", f"two models have the name {twice[0]!r}: --model NAME=SPEC gives each its own")
        made = {name: make(spec) for name, spec in named}
        if len(named) > 1 or names[0] != named[0][1]:
            return cls(made)
        only = made[names[0]]
        return cls({names[0] if only.target is None else only.target.model: only}, any_name=True)

    def choose(self, asked: str | None) -> AsyncModel:
        """The model of a name. Raises ApiError: invalid_request where no name is said, as every service does; not_found, with
        the names there are."""
        if not asked:
            said = f"`model` is missing: say which one, {' or '.join(self.models)} here"
            raise ApiError("invalid_request", said, ApiDetail(status=400, param="model"))
        found = self.models.get(asked) or self.models.get(asked.removesuffix(LATEST)) or self._only
        if found is None:
            said = f"no model {asked!r} here: one of {', '.join(self.models)}"
            raise ApiError("not_found", said, ApiDetail(status=404, param="model"))
        return found

    async def close(self) -> None:
        """Close all their connections."""
        for model in self.models.values():
            await model.close()


def split(said: str) -> tuple[str, str]:
    """NAME=SPEC as its name and its spec; a bare SPEC is its own name. An address may hold `=` itself."""
    name, equals, spec = said.partition("=")
    if not equals or "://" in name or "?" in name:
        return said, said
    if not name or not spec:
        raise UsageError("usage", f"--model {said!r}: write SPEC or NAME=SPEC")
    return name, spec
