"""Guards the cases TPA-008 to TPA-021: a value that was written as bare text is what the tool's schema says it is."""

from __future__ import annotations

import pytest

from hazards.parsing import Read, read, read_however_cut, tools

DSML = "｜DSML｜"


def parameter(key: str, text: str, name: str = "f") -> str:
    return f"<tool_call>\n<function={name}>\n<parameter={key}>\n{text}\n</parameter>\n</function>\n</tool_call>"


@pytest.mark.case("TPA-008")
def test_a_value_of_the_wrong_kind_is_passed_on() -> None:
    seen = read_however_cut("qwen3_coder", parameter("day", "2026-01-15", "log"), tools(log={"day": "integer"}))
    assert seen == Read((("log", {"day": "2026-01-15"}),))


@pytest.mark.case("TPA-010")
def test_a_parameter_without_a_name_is_left_out_whole() -> None:
    pieces = [
        "<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parameter>\n<parameter=\necho hi\n</parameter>\n",
        "</function>\n</tool_call>",
    ]
    expected = Read((("sh", {"cmd": "ls"}),))
    assert read("qwen3_coder", pieces) == expected == read_however_cut("qwen3_coder", "".join(pieces))


@pytest.mark.case("TPA-011")
@pytest.mark.parametrize(
    "value",
    [
        "\n  if a < b and c > d:\n    <parameter> & </p>\n",
        "the tag </parameter> ends, </function> too",
        "&lt;kept&gt; \\n",
        "  indented\n\ttab",
        "",
        "\n\n",
        "def f():\n    return '<parameter=x>'",
    ],
)
def test_code_in_a_value_keeps_every_character(value: str) -> None:
    text = parameter("content", value, "write")
    seen = read_however_cut("qwen3_coder", text, tools(write={"content": "string"}))
    assert seen == Read((("write", {"content": value}),))


@pytest.mark.parametrize(
    "text",
    [
        "<function=f>\n<parameter=a>1</parameter></function>",
        "<tool_call><function=f><parameter=a>1</parameter></function></tool_call>",
    ],
)
def test_values_on_one_line_and_a_forgotten_opening_mark(text: str) -> None:
    assert read_however_cut("qwen3_coder", text, tools(f={"a": "integer"})) == Read((("f", {"a": 1}),))


@pytest.mark.case("TPA-012")
def test_signs_words_and_tuples_are_values() -> None:
    text = "[set_temp(value=-5, on=True, note=None), move(x=-1.5, size=(8, 6))]"
    assert read_however_cut("pythonic", text) == Read(
        (("set_temp", {"value": -5, "on": True, "note": None}), ("move", {"x": -1.5, "size": [8, 6]}))
    )


@pytest.mark.case("TPA-012")
def test_a_value_that_is_none_spoils_no_neighbour() -> None:
    seen = read_however_cut("pythonic", "[a(x=foo.bar(1, 2), y=1), b(z=2)]")
    assert seen == Read((("a", {"x": "foo.bar(1, 2)", "y": 1}), ("b", {"z": 2})))


@pytest.mark.parametrize("text", ["[f(x=a}b)]", "[f(})]", "[f(x=]", "[f(x={'a'})]", "[f(x=[1)]", "[f(x=(]))]", "[f(]"])
def test_brackets_that_do_not_match_end_somewhere(text: str) -> None:
    seen = read_however_cut("pythonic", text)
    assert seen.calls or seen.text == text or seen.cuts


@pytest.mark.case("TPA-013")
def test_brackets_breaks_and_keywords_in_a_list_of_calls() -> None:
    text = '[grep(command=\'grep -F "]" log.txt\'), mem(from=1, q=["a, b", "c)"])]'
    assert read_however_cut("pythonic", text) == Read(
        (("grep", {"command": 'grep -F "]" log.txt'}), ("mem", {"from": 1, "q": ["a, b", "c)"]}))
    )
    assert read_however_cut("pythonic", "[f(a='one\ntwo', b='\\n\\'\\u4e00')]") == Read(
        (("f", {"a": "one\ntwo", "b": "\n'一"}),)
    )


@pytest.mark.case("TPA-014")
def test_json_where_a_list_was_taught_is_a_call_of_an_offered_tool_only() -> None:
    text = '{"type": "function", "name": "Bash", "parameters": {"cmd": "ls"}}'
    assert read_however_cut("llama4_pythonic", text, tools("Bash")) == Read((("Bash", {"cmd": "ls"}),))
    assert read_however_cut("llama4_pythonic", text, tools("Other")) == Read((("text", text),))


@pytest.mark.case("TPA-019")
@pytest.mark.parametrize("text", ["<tool_call>get_time</tool_call>", "<tool_call>get_time\n</tool_call>"])
def test_a_call_without_arguments_is_a_call(text: str) -> None:
    assert read_however_cut("glm45", text) == Read((("get_time", {}),))


@pytest.mark.case("TPA-020")
def test_the_schema_tells_a_number_from_digits() -> None:
    text = (
        "<tool_call>f\n<arg_key>id</arg_key>\n<arg_value>007</arg_value>\n<arg_key>n</arg_key>\n<arg_value>7</arg_value>\n"
        '<arg_key>o</arg_key>\n<arg_value>{"a": [1]}</arg_value>\n</tool_call>'
    )
    offered = tools(f={"id": "string", "n": "integer", "o": "object"})
    assert read_however_cut("glm45", text, offered) == Read((("f", {"id": "007", "n": 7, "o": {"a": [1]}}),))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("boolean", "true", True),
        ("boolean", "True", True),
        ("boolean", "FALSE", False),
        ("boolean", "1", "1"),
        ("number", "1.5", 1.5),
        ("number", "true", "true"),
        ("integer", "2.0", 2),
        ("integer", "12345678901234567890", 12345678901234567890),
        ("array", "['a', None]", ["a", None]),
        ("object", "{}", {}),
        ("string", "null", "null"),
        ("string", "{}", "{}"),
    ],
)
def test_a_value_becomes_its_declared_kind(kind: str, text: str, value: object) -> None:
    seen = read("qwen3_coder", [parameter("k", text)], tools(f={"k": kind}))
    assert seen == Read((("f", {"k": value}),))


@pytest.mark.case("TPA-021")
def test_a_closing_mark_that_is_cut_leaks_nowhere() -> None:
    pieces = [
        f'<{DSML}function_calls>\n<{DSML}invoke name="bash">\n<{DSML}parameter name="cmd" string="true">ls 2>&1</｜DS',
        "ML｜parameter",
        f'><{DSML}parameter name="n" string="false">5</{DSML}parameter>\n</{DSML}invoke>\n</{DSML}function_calls>',
    ]
    expected = Read((("bash", {"cmd": "ls 2>&1", "n": 5}),))
    assert read("deepseek_v32", pieces) == expected == read_however_cut("deepseek_v32", "".join(pieces))


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "1e999"])
def test_a_number_that_nothing_can_hold_stays_its_text(number: str) -> None:
    assert read("pythonic", [f"[f(a={number}, b=1)]"]) == Read((("f", {"a": number, "b": 1}),))


@pytest.mark.parametrize("kind", [5, True, {}, [5], None])
def test_a_schema_whose_type_is_none_takes_the_text(kind: object) -> None:
    assert read("qwen3_coder", [parameter("a", "5")], tools(f={"a": kind})) == Read((("f", {"a": "5"}),))
