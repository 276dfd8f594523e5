"""A typed function as a tool: `@tool`."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any, cast, overload

import msgspec

from dragoman.errors import UsageError
from dragoman.tools.base import Access, ToolError, ToolOutput, Traits
from dragoman.tools.result import failed, output
from dragoman.tools.signature import Parameter, convert, describe, wants_cancel
from dragoman.transport.cancel import CancelToken
from dragoman.types.tool import Tool


class FunctionTool(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A function and what a model is told of it. Only `definition` is ever sent (S0-52); calling it calls the function."""

    definition: Tool
    function: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    is_async: bool
    traits: Traits = Traits()
    token: str | None = None  # the parameter that takes the cancel token

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        """The function itself, as if it had not been decorated."""
        return self.function(*args, **kwargs)

    def invoke(self, arguments: dict[str, Any], /, *, cancel: CancelToken | None = None) -> ToolOutput:
        """Check the arguments, run the function to its end, and give its output; a failure is an output with the reason.

        Arguments that do not fit never reach the function (S1-28). An async function runs in an event loop of its
        own: raises UsageError where one is running already (`ainvoke` is the way there).
        """
        values = self._values(arguments, cancel)
        if isinstance(values, str):
            return _misfit(self.definition.name, values)
        if self.is_async and _in_event_loop():
            raise UsageError(
                "usage", f"tool {self.definition.name!r} is async: run the agent with `await agent.arun()`"
            )
        try:
            value = self.function(**values)
            return output(_run_to_end(value) if inspect.isawaitable(value) else value)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is told to the model (S4-27)
            return failed(_reason(error))

    async def ainvoke(self, arguments: dict[str, Any], /, *, cancel: CancelToken | None = None) -> ToolOutput:
        """As `invoke`, in the running event loop; a sync function runs in a thread, so that it holds nothing up."""
        if not self.is_async:
            return await _in_thread(lambda: self.invoke(arguments, cancel=cancel))
        values = self._values(arguments, cancel)
        if isinstance(values, str):
            return _misfit(self.definition.name, values)
        try:
            return output(await self.function(**values))
        except Exception as error:  # noqa: BLE001 - as above
            return failed(_reason(error))

    def _values(self, arguments: dict[str, Any], cancel: CancelToken | None) -> dict[str, Any] | str:
        values = convert(self.parameters, arguments)
        if self.token is not None and isinstance(values, dict):
            values[self.token] = cancel or CancelToken()
        return values


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    access: Access | None = None,
    traits: Traits | None = None,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    access: Access | None = None,
    traits: Traits | None = None,
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a typed function, sync or async, a tool: its name, its docstring and its signature are what a model is told.

    Annotations: str, int, float, bool, list, dict, unions, Literal, Enum, TypedDict, Annotated[T, "description"],
    dataclasses, msgspec structs, pydantic models, and what else msgspec can read. Defaults are told and filled in
    (S1-29). A parameter of type CancelToken is handed in and told to nobody. `access` says what the tool does to the
    world, `traits` that and more: without them it is one that only looks, and runs without being asked about. Warns
    when there is no docstring; raises UsageError for a parameter that cannot be described.
    """
    if access is not None:
        traits = msgspec.structs.replace(traits or Traits(), access=access)
    if function is None:
        return lambda found: _tool(found, name, description, traits)
    return _tool(function, name, description, traits)


def _tool(
    function: Callable[..., Any], name: str | None, description: str | None, traits: Traits | None
) -> FunctionTool:
    for word, said in (("name", name), ("description", description)):
        if said is not None and not isinstance(cast(Any, said), str):
            raise UsageError("usage", f"a tool's {word} is {type(said).__name__}: pass a text")
    if traits is not None and not isinstance(cast(Any, traits), Traits):
        raise UsageError("usage", f"a tool's traits are {type(traits).__name__}: pass Traits(…)")
    name = name or getattr(function, "__name__", "")
    if not name or name == "<lambda>":
        raise UsageError("usage", "a tool needs a name: decorate a named function, or say @tool(name=…)")
    description = description or inspect.getdoc(function)
    if not description:
        warnings.warn(f"tool {name!r} has no docstring: the model will not know when to call it", stacklevel=3)
    parameters, schema = describe(function)
    return FunctionTool(
        definition=Tool(name=name, description=description, parameters=schema),
        function=function,
        parameters=parameters,
        is_async=inspect.iscoroutinefunction(function),
        traits=traits or Traits(),
        token=wants_cancel(function),
    )


def _misfit(name: str, faults: str) -> ToolOutput:
    return failed(f"invalid arguments for `{name}`, not executed: {faults}. Correct them and call `{name}` again.")


def _reason(error: Exception) -> str:
    if isinstance(error, ToolError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _in_event_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _in_thread(work: Callable[[], ToolOutput]) -> ToolOutput:
    """`work` in a daemon thread of its own: unlike a pool's, one that never ends keeps no program from leaving."""
    import asyncio
    import contextvars
    from threading import Thread

    loop = asyncio.get_running_loop()
    future: asyncio.Future[ToolOutput] = loop.create_future()

    def settle(value: ToolOutput | None, error: BaseException | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(value or failed(""))

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as raised:  # noqa: BLE001 - carried to whoever waits, an interrupt included
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is gone, and nobody waits
            loop.call_soon_threadsafe(settle, value, error)

    Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
    return await future


def _run_to_end(awaitable: Any) -> Any:
    import asyncio

    async def whole() -> Any:
        return await awaitable

    return asyncio.run(whole())
