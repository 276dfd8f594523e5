"""What transformers makes of the chat templates in tests/data/templates: the oracle of our own renderer.

    python tools/templates.py            writes tests/data/templates/rendered.json

Run by hand in an environment of its own with `transformers` (no torch, no model): it is far too big to be a dependency
of the tests. A conversation that a template refuses stands there as null.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "templates"
NOW = (2026, 1, 2, 3, 4, 5)
BOS, EOS = "<s>", "</s>"

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "获取某个城市当前的天气情况 <now> & 'today'",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "城市名称"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city"],
        },
    },
}
SYSTEM = {"role": "system", "content": "You are <brief> & kind 🙂"}
ASKED = {"role": "user", "content": "查询西安和北京的天气 مرحبا"}
ANSWER = {"role": "assistant", "content": "6 and 5."}
THOUGHT = {"role": "assistant", "content": "6 and 5.", "reasoning_content": "Two cities.", "reasoning": "Two cities."}
THANKS = {"role": "user", "content": "thanks"}
CALLS: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": call, "type": "function", "function": {"name": "get_weather", "arguments": {"city": city}}}
            for call, city in (("abcdefgh1", "西安"), ("abcdefgh2", "北京"))
        ],
    },
    {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefgh1", "content": "6 摄氏度"},
    {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefgh2", "content": "5 摄氏度"},
]
CONVERSATIONS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]] | None]] = {
    "one turn": ([ASKED], None),
    "system": ([SYSTEM, ASKED, ANSWER, THANKS], None),
    "tools offered": ([SYSTEM, ASKED], [WEATHER]),
    "tools offered without system": ([ASKED], [WEATHER]),
    "results": ([SYSTEM, ASKED, *CALLS], [WEATHER]),
    "whole": ([SYSTEM, ASKED, *CALLS, THOUGHT, THANKS], [WEATHER]),
    "two users": ([ASKED, THANKS], None),
}


def main() -> None:
    """Write the page."""
    import transformers
    from transformers.utils import chat_template_utils as oracle

    class Then(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Then:
            return cls(*NOW)

    oracle.datetime = Then
    rendered: dict[str, dict[str, str | None]] = {}
    for path in sorted(FOLDER.glob("*.jinja")):
        said = rendered[path.stem] = {}
        for name, (messages, tools) in CONVERSATIONS.items():
            try:
                texts, _ = oracle.render_jinja_template(
                    [messages],
                    tools=tools,
                    chat_template=path.read_text(encoding="utf-8"),
                    add_generation_prompt=True,
                    bos_token=BOS,
                    eos_token=EOS,
                )
                said[name] = texts[0]
            except Exception:  # noqa: BLE001  whatever a template raises is a refusal
                said[name] = None
    page = {"renderer": f"transformers {transformers.__version__}", "rendered": rendered}
    (FOLDER / "rendered.json").write_text(json.dumps(page, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
