"""What other libraries' own translations cost: run by codec.py in the interpreter of a venv that holds them.

A JSON object of bodies by wire on stdin, a JSON object on stdout. Reading and writing JSON counts, as it does for us.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

MODEL = "claude-sonnet-4-5"
Row = dict[str, Any]


def best(call: Callable[[], Any], calls: int = 10) -> float:
    """Microseconds of processor time of one call, the best of a few rounds."""
    call()
    return min(timeit.repeat(call, timer=time.process_time, number=calls, repeat=5)) / calls * 1e6


def rosetta(bodies: dict[str, bytes]) -> Iterator[tuple[str, str, str, Callable[[], Any]]]:
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
            yield source, target, name, call


def litellm(bodies: dict[str, bytes]) -> Iterator[tuple[str, str, str, Callable[[], Any]]]:
    """The four pairs that it translates, through the functions that its own calls end in."""
    from litellm.completion_extras.litellm_responses_transformation.transformation import (  # type: ignore[import]
        LiteLLMResponsesTransformationHandler,
    )
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig  # type: ignore[import]
    from litellm.llms.anthropic.messages.adapters.transformation import AnthropicAdapter  # type: ignore[import]
    from litellm.responses.litellm_completion_transformation.transformation import (  # type: ignore[import]
        LiteLLMCompletionResponsesConfig,
    )

    config, handler, adapter = AnthropicConfig(), LiteLLMResponsesTransformationHandler(), AnthropicAdapter()

    def messages() -> str:
        asked = json.loads(bodies["chat"])
        talk, said = asked.pop("messages"), {key: asked[key] for key in ("tools", "max_tokens", "stream")}
        params = config.map_openai_params(said, {}, MODEL, False)
        return json.dumps(config.transform_request(MODEL, talk, params, {}, {}))

    def responses() -> str:
        asked = json.loads(bodies["chat"])
        model, talk = asked.pop("model"), asked.pop("messages")
        return json.dumps(handler.transform_request(model, talk, asked, {}, {}, None), default=_plain)

    def from_messages() -> str:
        asked = adapter.translate_completion_input_params(json.loads(bodies["messages"]))
        return json.dumps(asked, default=_plain)

    def from_responses() -> str:
        asked = json.loads(bodies["responses"])
        model, items, stream = asked.pop("model"), asked.pop("input"), asked.pop("stream", None)
        translated = LiteLLMCompletionResponsesConfig.transform_responses_api_request_to_chat_completion_request(
            model=model, input=items, responses_api_request=asked, stream=stream
        )
        return json.dumps(translated, default=_plain)

    yield "chat", "messages", "AnthropicConfig.map_openai_params + transform_request", messages
    yield "chat", "responses", "LiteLLMResponsesTransformationHandler.transform_request", responses
    yield "messages", "chat", "AnthropicAdapter.translate_completion_input_params", from_messages
    name = "LiteLLMCompletionResponsesConfig.transform_responses_api_request_to_chat_completion_request"
    yield "responses", "chat", name, from_responses


def _plain(value: Any) -> Any:
    return value.model_dump(exclude_none=True)


def main() -> None:
    """Time every function that is there; one that fails is told with its reason."""
    bodies = {wire: text.encode() for wire, text in json.load(sys.stdin).items()}
    rows: list[Row] = []
    for library, listed in (("llm-rosetta", rosetta), ("litellm", litellm)):
        with contextlib.redirect_stdout(sys.stderr):  # one of them talks
            for source, target, name, call in listed(bodies):
                row: Row = {"library": library, "version": version(library), "source": source, "target": target}
                try:
                    rows.append({**row, "function": name, "micros": best(call)})
                except Exception as error:  # noqa: BLE001 - whatever a peer raises is told
                    rows.append({**row, "function": name, "failed": repr(error)[:200]})
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
