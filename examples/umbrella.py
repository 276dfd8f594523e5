"""Weather and a reminder: three requests, two calls, and a text at the end because it calls nothing more.

    python examples/umbrella.py MODEL

Reading the weather changes nothing, so it runs. A reminder does, so it says so (`access="write"`), and a rule allows it:
without the rule the model would be told that it may not.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

from dragoman import Model, tool
from dragoman.agent import Agent, Policy, RunResult

QUESTION = "查广州下周天气, 下雨就提醒带伞"
WEEK = {
    "广州": {"周一": "晴", "周二": "晴", "周三": "雨", "周四": "多云"},
    "北京": {"周一": "晴", "周二": "晴", "周三": "晴", "周四": "晴"},
}


@tool
def get_weather(city: Annotated[str, "The city, as the user wrote it"]) -> dict[str, Any]:
    """Tell next week's weather of a city, day by day. Call it before you say anything about the weather."""
    return {"city": city, "days": WEEK[city]}


def umbrella(model: Model, question: str = QUESTION, *, policy: Policy | None = None) -> tuple[RunResult, list[str]]:
    """How the run ended, and the reminders that were set."""
    reminders: list[str] = []

    @tool(access="write")
    def set_reminder(
        day: Annotated[str, "The day it is for"], text: Annotated[str, "What to remember"]
    ) -> dict[str, Any]:
        """Set a reminder. Call it once for each day on which the weather asks for it, and only then."""
        reminders.append(f"{day}: {text}")
        return {"set": True, "day": day}

    allowed = policy or Policy.of(allow=["set_reminder"])
    return Agent(model, [get_weather, set_reminder], policy=allowed).run(question), reminders


if __name__ == "__main__":
    with Model(sys.argv[1]) as chosen:
        ended, made = umbrella(chosen)
    print(ended.text or ended.detail)
    print(f"{ended.steps} requests; reminders: {made}")
