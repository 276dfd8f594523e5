"""tinyLangChain, the small agent framework of a textbook, over our own client: its names, shapes and visible order.

《AI智能体应用开发》 §7.4.4 builds it to show that an agent is a loop over a history of plain dicts; programs written for
it run here unchanged once their `tinylangchain` is this module. What the listing got wrong is right here: `tool_choice`
goes with `tools` (C-01), an unknown tool is an error the model is told (C-16), a reply that was cut off ends the loop
(C-08), and so does a loop without end. For anything new, use `dragoman.Agent`.

Needs the extra: pip install 'dragoman[tinylangchain]'.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from dragoman.catalog.find import find
from dragoman.client.model import Model
from dragoman.dialect.model import BASE
from dragoman.errors import DragomanError, UsageError
from dragoman.secret import Secret
from dragoman.wire import find as find_wire
from dragoman.wire.base import Exchange, Http

try:
    from pydantic import BaseModel
except ModuleNotFoundError as missing:
    _hint = f"dragoman.tinylangchain needs the extra: pip install 'dragoman[tinylangchain]' ({missing.name} is missing)"
    raise UsageError("missing_extra", _hint) from None

__all__ = ["LLM", "Agent", "Tool", "create_agent", "get_function_description", "tool"]

Msg: TypeAlias = dict[str, Any]

BASE_ENV = ("OPENAI_API_BASE", "OPENAI_BASE_URL")  # the textbook's name wins (C-19)
KEY_ENV = "OPENAI_API_KEY"
SYSTEM: Msg = {"role": "system", "content": "You are a helpful assistant"}
MAX_STEPS = 50  # requests of one run; the listing has no end when the model has none (S1-50)
_CHAT = find_wire("chat")


def get_function_description(func: Callable[..., Any]) -> Msg:
    """What a model is told of a tool: name, docstring, and the schema of the model that its one parameter is (S1-32)."""
    return {
        "type": "function",
        "function": {
            "name": func.__name__,
            "description": inspect.getdoc(func),
            "parameters": _argument(func).model_json_schema(),
        },
    }


class Tool:
    """A function and what a model is told of it: `func`, `func_name`, `arg_type`, `description` (S1-35)."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        self.func_name = func.__name__
        self.arg_type = _argument(func)
        self.description = get_function_description(func)

    def invoke(self, args: Any) -> Msg:
        """Run it with arguments as JSON text and give its tool message, without an id; a fault is its content (S1-37)."""
        try:
            content = str(self.func(self.arg_type(**json.loads(str(args)))))
        except Exception as error:  # noqa: BLE001  whatever a tool raises is told to the model
            content = str(error)
        return {"role": "tool", "tool_name": self.func_name, "content": content}

    def __str__(self) -> str:
        return str({"func": self.func, "arg_type": self.arg_type, "description": self.description})


def tool(func: Callable[..., Any]) -> Tool:
    """A function with a docstring and exactly one parameter, a pydantic model, as a Tool. Raises TypeError (S1-33)."""
    return Tool(func)


class LLM:
    """A model behind Chat Completions. Address and key are read from the environment once, here (S1-40).

    `env` is the process's by default. Raises UsageError where no key is set for an address that needs one.
    """

    def __init__(self, model: str, temperature: float = 0, *, env: Mapping[str, str] | None = None) -> None:
        said = os.environ if env is None else env
        own = next((said[name] for name in BASE_ENV if said.get(name)), None)
        base = (own or find(f"openai/{model}", {}, keyless=True).base_url).rstrip("/")
        key = said.get(KEY_ENV)
        if not key and own is None:
            raise UsageError("missing_key", f"no key for {base}: set {KEY_ENV}, or {BASE_ENV[0]} to another address")
        target = find(f"{base}#chat:{model}", {}, keyless=True)
        known = {"key": Secret(key) if key else None, "key_env": KEY_ENV, "base_env": BASE_ENV[0]}
        self.model, self.temperature = model, temperature
        self._model = Model(msgspec.structs.replace(target, **known), env=said)

    def chat_completion(self, messages: Sequence[Msg], tools: Sequence[Tool] = ()) -> Msg:
        """The first choice of the answer: `message` and `finish_reason`, as the service said them (S1-41).

        Raises ApiError with the service's status and words, TransportError without an answer.
        """
        sent = [{key: value for key, value in message.items() if key != "tool_name"} for message in messages]  # C-15
        body: Msg = {"model": self.model, "messages": sent, "temperature": self.temperature}
        if tools:
            body |= {"tools": [each.description for each in tools], "tool_choice": "auto"}
        request = _CHAT.decode_request(Http(body=msgspec.json.encode(body)), BASE, Exchange()).request
        reply = self._model.chat(request)
        answer = _CHAT.encode_reply(reply, BASE, Exchange(model=self.model, seed="tinylangchain"))
        choice: Msg = json.loads(answer.body)["choices"][0]
        return choice


class Agent:
    """The loop over a history of plain dicts. `history` is the conversation; it goes on from run to run (S1-52)."""

    def __init__(self, model: LLM, tools: Sequence[Tool], system_prompt: Msg | None = None) -> None:
        self.model = model
        self.tools = list(tools)
        self.tools_dict = {each.func_name: each for each in tools}
        self.system_prompt = dict(SYSTEM)
        if system_prompt is not None and self.validate_msg(system_prompt, "system"):
            self.system_prompt = system_prompt
        self.history: list[Msg] = [self.system_prompt]

    def validate_msg(self, msg: Any, role: str) -> bool:
        """Whether `msg` is a message of `role` with a content (S1-44)."""
        return isinstance(msg, dict) and msg.get("role") == role and "content" in msg

    def invoke_tool(self, name: str, args: Any) -> Msg:
        """The tool message of a call; one that names no tool of ours tells which there are (S1-45, C-16)."""
        found = self.tools_dict.get(name)
        if found is not None:
            return found.invoke(args)
        known = ", ".join(self.tools_dict) or "none"
        return {"role": "tool", "tool_name": name, "content": f"there is no tool {name!r}; the tools are: {known}"}

    def append_msg(self, msg: Msg) -> list[Msg]:
        """Put a message into the history and give the history (S1-46)."""
        self.history.append(msg)
        return self.history

    def run(
        self, input: Msg, *, snapshots: bool = False, max_steps: int = MAX_STEPS
    ) -> Generator[list[Msg], None, None]:
        """Yields the history after each message that joins it: the same list each time (C-23), or a copy of it with
        `snapshots`.

        Ends when a reply holds no calls (C-08). Raises UsageError for an input that is no user message, ApiError and
        TransportError as `chat_completion`, and DragomanError for a reply that was cut off (`incomplete`) or a run of
        more than `max_steps` requests (`limit`).
        """
        if not self.validate_msg(input, "user"):
            raise UsageError("usage", "the input is a dict with the role user and a content")
        yield self._told(input, snapshots)
        for _ in range(max_steps):
            choice = self.model.chat_completion(self.history, self.tools)
            message: Msg = choice["message"]
            yield self._told(message, snapshots)
            if choice["finish_reason"] == "length":
                raise DragomanError("incomplete", "the reply was cut off by its limit of tokens")
            if not message.get("tool_calls"):
                return
            for call in message["tool_calls"]:
                result = self.invoke_tool(call["function"]["name"], call["function"]["arguments"])
                yield self._told({**result, "tool_call_id": call["id"]}, snapshots)
        raise DragomanError("limit", f"the model did not come to an end within {max_steps} requests")

    def _told(self, msg: Msg, snapshots: bool) -> list[Msg]:
        history = self.append_msg(msg)
        return list(history) if snapshots else history


def create_agent(model: LLM, tools: Sequence[Tool], system_prompt: Msg | None = None) -> Agent:
    """An Agent (S1-51)."""
    return Agent(model, tools, system_prompt)


def _argument(func: Callable[..., Any]) -> type[BaseModel]:
    parameters = list(inspect.signature(func, eval_str=True).parameters.values())
    if not inspect.getdoc(func):
        raise TypeError(f"tool {func.__name__!r} needs a docstring: it is all that the model is told of it")
    annotation = parameters[0].annotation if len(parameters) == 1 else None
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        raise TypeError(f"tool {func.__name__!r} needs exactly one parameter, annotated with a pydantic model")
    return annotation
