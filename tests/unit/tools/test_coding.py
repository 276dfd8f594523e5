"""Guards the set of tools that work on code: what each is called, what it may be told, and the class that permission goes by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.tools import coding_tools


@pytest.mark.req("I-07")
def test_each_has_a_class_a_schema_that_names_all_it_takes_and_words_about_itself(tmp_path: Path) -> None:
    tools = coding_tools(tmp_path)
    assert {tool.definition.name: tool.traits.access for tool in tools} == {
        "read": "read",
        "list": "read",
        "glob": "read",
        "grep": "read",
        "write": "write",
        "edit": "write",
        "shell": "execute",
    }
    for tool in tools:
        schema: Any = tool.definition.parameters
        assert tool.definition.description
        assert set(schema.get("required", ())) <= schema["properties"].keys()
        assert all(about["description"] for about in schema["properties"].values())
