"""The model's own chat template: messages and tools become the exact text that it was taught (S1-55)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from dragoman.engine import gguf
from dragoman.errors import ApiDetail, ApiError, UsageError

Turn: TypeAlias = Mapping[str, Any]

NO_EXTRA = "chat templates need the extra: pip install 'dragoman[local]'"
REFUSED = ApiDetail(status=400, retryable=False)
LONGEST = 1_000_000  # characters of a template's source: the longest public ones have 20,000


class Template:
    """A compiled template. `source` is its text; `bos` and `eos` are the texts of the model's special tokens.

    `reads` are the variables that it looks at beside its own, so one can ask whether it knows a switch
    (`enable_thinking`). Raises UsageError for a source that is no template.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "") -> None:
        if len(source) > LONGEST:
            raise UsageError("unknown_model", f"the chat template has {len(source)} characters, more than {LONGEST}")
        try:
            from jinja2.exceptions import TemplateSyntaxError

            from dragoman.engine import sandbox
        except ModuleNotFoundError as error:
            raise UsageError("missing_extra", f"{NO_EXTRA} ({error.name} is missing)") from None
        self.source, self.bos, self.eos = source, bos, eos
        try:
            self._made, self.reads = sandbox.compiled(sandbox.Sandbox(), source)
        except TemplateSyntaxError as error:
            raise UsageError(
                "unknown_model", f"the chat template cannot be read: line {error.lineno}: {error.message}"
            ) from None
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # jinja2 lets pass what Python does not
            said = str(error).partition(" (")[0] or "too deep"
            raise UsageError("unknown_model", f"the chat template cannot be read: {said}") from None

    def render(
        self,
        messages: Sequence[Turn],
        tools: Sequence[Turn] | None = None,
        *,
        now: datetime,
        variables: Mapping[str, Any] | None = None,
        open_turn: bool = True,
        work: int | None = None,
    ) -> str:
        """The prompt of `messages` in the form of Chat Completions, with arguments as objects.

        `open_turn` adds the opening of the assistant's turn (S1-59). `variables` are what `chat_template_kwargs` holds;
        they do not replace the messages or the tools. `work` is what it may cost (`engine.budget`). Raises ApiError
        invalid_request with the template's own words and the place of the message that it refuses (`messages[3]`), and
        for a template that fails or runs away.
        """
        from dragoman.engine.budget import WORK, TooMuchWork, budget

        with budget(work or WORK):
            said = self._rendered(messages, tools, now, variables or {}, open_turn)
        if isinstance(said, str):
            return said
        if isinstance(said, TooMuchWork):  # no message is to blame, and looking for one would cost as much each time
            raise ApiError("invalid_request", f"chat template: {said}", REFUSED)
        place = self._place(messages, tools, now, variables or {}, str(said))
        raise ApiError("invalid_request", f"chat template: {place}{said}", REFUSED)

    def _rendered(
        self,
        messages: Sequence[Turn],
        tools: Sequence[Turn] | None,
        now: datetime,
        variables: Mapping[str, Any],
        open_turn: bool,
    ) -> str | Exception:
        from jinja2.exceptions import TemplateError

        from dragoman.engine import sandbox

        given = {str(key): _plain(value, f"chat_template_kwargs.{key}") for key, value in variables.items()} | {
            "messages": [_plain(turn, f"messages[{at}]") for at, turn in enumerate(messages)],
            "tools": [_plain(tool, f"tools[{at}]") for at, tool in enumerate(tools)] if tools else None,
            "documents": None,
            "add_generation_prompt": open_turn,
            "bos_token": self.bos,
            "eos_token": self.eos,
        }
        try:
            with sandbox.told(now):
                return "".join(_counted(self._made.generate(given)))
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            return error
        except (RecursionError, MemoryError):
            return RecursionError("it goes too deep")

    def _place(
        self,
        messages: Sequence[Turn],
        tools: Sequence[Turn] | None,
        now: datetime,
        variables: Mapping[str, Any],
        said: str,
    ) -> str:
        """The shortest beginning of the conversation that is refused in the same words ends with the culprit."""
        from dragoman.engine.budget import budget

        low, high = 0, len(messages)
        while high - low > 1:
            middle = (low + high) // 2
            with budget():
                refused = self._rendered(messages[:middle], tools, now, variables, True)
            low, high = (low, middle) if str(refused) == said and not isinstance(refused, str) else (middle, high)
        return f"messages[{high - 1}]: " if messages else ""


def of_gguf(path: Path) -> Template | None:
    """The template of a GGUF file; None when it has none."""
    values = gguf.metadata(path)
    source = gguf.chat_template(values)
    return Template(source) if source else None


def of_file(path: Path) -> Template:
    """The template of a `tokenizer_config.json`, of a GGUF file, or of a file that is the template itself.

    Of several named templates in a tokenizer's configuration `tool_use` wins, then `default`. Raises UsageError for a
    file that cannot be read or holds none.
    """
    if path.suffix == ".gguf":
        found = of_gguf(path)
        if found is None:
            raise UsageError("unknown_model", f"{path} holds no chat template")
        return found
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("usage", f"{path}: {error}") from None
    return _of_config(text, path) if path.suffix == ".json" else Template(text)


def _of_config(text: str, path: Path) -> Template:
    try:
        config: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError("bad_json", f"{path}: {error}") from None
    said = config.get("chat_template") if isinstance(config, dict) else None
    if isinstance(said, list):
        named = {str(item.get("name")): item.get("template") for item in said if isinstance(item, dict)}
        said = named.get("tool_use") or named.get("default")
    if not isinstance(said, str):
        raise UsageError("unknown_model", f"{path} holds no chat_template")
    return Template(said, bos=_token(config.get("bos_token")), eos=_token(config.get("eos_token")))


def _token(said: Any) -> str:
    """A special token is its text, or an object that holds it."""
    content = said.get("content") if isinstance(said, dict) else said
    return content if isinstance(content, str) else ""


def _plain(value: Any, place: str) -> Any:
    """`value` as a template may see it. Raises ApiError with its place where it cannot be shown."""
    from dragoman.engine import sandbox

    try:
        return sandbox.plain(value)
    except (TypeError, ValueError, RecursionError) as error:
        said = "it goes too deep" if isinstance(error, RecursionError) else error
        raise ApiError("invalid_request", f"chat template: {place}: {said}", REFUSED) from None


def _counted(pieces: Any) -> Any:
    from dragoman.engine.budget import pay

    for piece in pieces:
        pay(len(piece))
        yield piece
