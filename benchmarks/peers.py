"""What other libraries' own translations cost: run by codec.py in the interpreter of a venv that holds them.

A JSON object of bodies by wire on stdin, a JSON object on stdout. Reading and writing JSON counts, as it does for us.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any, NamedTuple

MODEL, GPT = "claude-sonnet-4-5", "gpt-4.1"
CHECKS = "validate_and_fix_openai_messages + validate_and_fix_openai_tools + get_optional_params"
Row = dict[str, Any]


class Case(NamedTuple):
    """One translation of a library: the functions that make it up, and the call that runs them."""

    source: str
    target: str
    function: str
    call: Callable[[], Any]
    whole: bool = False  # more than a translation


def best(call: Callable[[], Any], calls: int = 2) -> float:
    """Microseconds of processor time of one call, the best of a few rounds."""
    call()
    return min(timeit.repeat(call, timer=time.process_time, number=calls, repeat=40)) / calls * 1e6


def rosetta(bodies: dict[str, bytes]) -> Iterator[Case]:
    """All six pairs through its converters, which is what its pipeline and gateway call."""
    from llm_rosetta import AnthropicConverter, OpenAIChatConverter, OpenAIResponsesConverter  # type: ignore[import]

    made = {"chat": OpenAIChatConverter(), "messages": AnthropicConverter(), "responses": OpenAIResponsesConverter()}
    for source, one in made.items():
        for target, other in made.items():
            if source == target:
                continue

            def call(one: Any = one, other: Any = other, body: bytes = bodies[source]) -> str:
                out = other.request_to_provider(one.request_from_provider(json.loads(body)))
                return json.dumps(out[0] if isinstance(out, tuple) else out)

            name = f"{type(one).__name__}.request_from_provider + {type(other).__name__}.request_to_provider"
            yield Case(source, target, name, call)


def litellm(bodies: dict[str, bytes]) -> Iterator[Case]:
    """The four pairs that it translates: every step that its own calls take with the request's content, from the check
    of messages and tools to the body that its HTTP client is given. What it logs and looks up besides is left out."""
    from litellm.completion_extras.litellm_responses_transformation.transformation import (  # type: ignore[import]
        LiteLLMResponsesTransformationHandler,
    )
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig  # type: ignore[import]
    from litellm.llms.anthropic.messages.adapters.transformation import AnthropicAdapter  # type: ignore[import]
    from litellm.llms.openai.chat.gpt_transformation import OpenAIGPTConfig  # type: ignore[import]
    from litellm.llms.openai.responses.transformation import OpenAIResponsesAPIConfig  # type: ignore[import]
    from litellm.responses.litellm_completion_transformation.transformation import (  # type: ignore[import]
        LiteLLMCompletionResponsesConfig,
    )
    from litellm.responses.utils import ResponsesAPIRequestUtils  # type: ignore[import]
    from litellm.types.router import GenericLiteLLMParams  # type: ignore[import]

    claude, gpt, answers = AnthropicConfig(), OpenAIGPTConfig(), OpenAIResponsesAPIConfig()
    handler, adapter = LiteLLMResponsesTransformationHandler(), AnthropicAdapter()

    def messages() -> str:
        talk, params = _validated(json.loads(bodies["chat"]), "anthropic", MODEL)
        talk, params = copy.deepcopy(talk), copy.deepcopy(params)  # as its handler does, since the next step edits them
        return json.dumps(claude.transform_request(MODEL, talk, params, {}, {}))

    def responses() -> str:
        talk, params = _validated(json.loads(bodies["chat"]), "openai", GPT)
        asked = dict(handler.transform_request(GPT, talk, params, {}, {}, None))
        items = asked.pop("input")
        said = ResponsesAPIRequestUtils.get_requested_response_api_optional_param(asked)
        said = ResponsesAPIRequestUtils.get_optional_params_responses_api(GPT, answers, said)
        done = answers.transform_responses_api_request(GPT, items, said, GenericLiteLLMParams(), {})
        return json.dumps(done, default=_plain)

    def chat(asked: dict[str, Any]) -> str:
        talk, params = _validated(asked, "openai", GPT)
        return json.dumps(gpt.transform_request(GPT, talk, params, {}, {}), default=_plain)

    def from_messages() -> str:
        return chat(dict(adapter.translate_completion_input_params({**json.loads(bodies["messages"]), "model": GPT})))

    def from_responses() -> str:
        asked = json.loads(bodies["responses"])
        items, stream = asked.pop("input"), asked.pop("stream", None)
        return chat(
            LiteLLMCompletionResponsesConfig.transform_responses_api_request_to_chat_completion_request(
                model=GPT, input=items, responses_api_request=asked, stream=stream
            )
        )

    yield Case("chat", "messages", f"{CHECKS} + AnthropicConfig.transform_request", messages)
    whole = "completion: the whole call, with all it logs and looks up, until its HTTP client is given the body"
    yield Case("chat", "messages", whole, _whole(bodies), whole=True)
    bridge = "LiteLLMResponsesTransformationHandler.transform_request"
    params = "ResponsesAPIRequestUtils.get_optional_params_responses_api"
    writes = f"{bridge} + {params} + OpenAIResponsesAPIConfig.transform_responses_api_request"
    yield Case("chat", "responses", f"{CHECKS} + {writes}", responses)
    writes = f"{CHECKS} + OpenAIGPTConfig.transform_request"
    yield Case("messages", "chat", f"AnthropicAdapter.translate_completion_input_params + {writes}", from_messages)
    name = "LiteLLMCompletionResponsesConfig.transform_responses_api_request_to_chat_completion_request"
    yield Case("responses", "chat", f"{name} + {writes}", from_responses)


def _validated(asked: dict[str, Any], provider: str, model: str) -> tuple[Any, dict[str, Any]]:
    """What `completion` does with any request before a provider's own code: messages and tools checked and mended,
    parameters mapped (`get_optional_params` calls the provider's `map_openai_params`)."""
    from litellm.utils import (  # type: ignore[import]
        get_optional_params,
        validate_and_fix_openai_messages,
        validate_and_fix_openai_tools,
    )

    talk = validate_and_fix_openai_messages(messages=asked["messages"])
    tools = validate_and_fix_openai_tools(tools=asked["tools"])
    said = {key: asked[key] for key in ("max_tokens", "stream") if asked.get(key) is not None}
    return talk, get_optional_params(model=model, custom_llm_provider=provider, messages=talk, tools=tools, **said)


class Sent(BaseException):
    """The body is in the HTTP client's hands: no Exception, which would be taken for a provider's error."""


def _whole(bodies: dict[str, bytes]) -> Callable[[], Any]:
    import litellm  # type: ignore[import]
    from litellm.llms.custom_httpx.http_handler import HTTPHandler  # type: ignore[import]

    def sent(*_: Any, **__: Any) -> Any:
        raise Sent

    client = HTTPHandler()
    client.post = sent

    def call() -> None:
        asked = {**json.loads(bodies["chat"]), "model": f"anthropic/{MODEL}"}
        with contextlib.suppress(Sent):
            litellm.completion(**asked, api_key="none", client=client)

    return call


def _plain(value: Any) -> Any:
    return value.model_dump(exclude_none=True)


def main() -> None:
    """Time every function that is there; one that fails is told with its reason."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # one of them would ask the net
    bodies = {wire: text.encode() for wire, text in json.load(sys.stdin).items()}
    rows: list[Row] = []
    for library, listed in (("llm-rosetta", rosetta), ("litellm", litellm)):
        with contextlib.redirect_stdout(sys.stderr):  # one of them talks
            for case in listed(bodies):
                row: Row = {"library": library, "version": version(library), **case._asdict()}
                call = row.pop("call")
                try:
                    rows.append({**row, "micros": best(call)})
                except Exception as error:  # noqa: BLE001 - whatever a peer raises is told
                    rows.append({**row, "failed": repr(error)[:200]})
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
