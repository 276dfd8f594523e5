"""Guards the cases TPA: calls that models write as text are found, whatever stands in them and however it is cut."""

from __future__ import annotations

import json

import pytest

from hazards.parsing import Read, read, read_however_cut, tools

WEATHER = tools(get_weather={"city": "string", "days": "integer"}, now={})
SECTION = "<|tool_calls_section_begin|>{}<|tool_calls_section_end|>"
KIMI = "<|tool_call_begin|>{}<|tool_call_argument_begin|>{}<|tool_call_end|>"
DSML = "｜DSML｜"
DEEPSEEK = "<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>"
OLD_CALL = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{}\n```json\n{}\n```<｜tool▁call▁end｜>"
NEW_CALL = "<｜tool▁call▁begin｜>{}<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
PARIS, ROME = '{"city": "Paris", "days": 2}', '{"city": "Rome", "days": 3}'
TWO = (("get_weather", {"city": "Paris", "days": 2}), ("get_weather", {"city": "Rome", "days": 3}))


def json_call(arguments: str) -> str:
    return f'{{"name": "get_weather", "arguments": {arguments}}}'


def xml_call(city: str, days: int) -> str:
    return f"<function=get_weather>\n<parameter=city>\n{city}\n</parameter>\n<parameter=days>\n{days}\n</parameter>\n</function>"


def invoke(city: str, days: int, prefix: str = "") -> str:
    return (
        f'<{prefix}invoke name="get_weather">\n<{prefix}parameter name="city">{city}</{prefix}parameter>\n'
        f'<{prefix}parameter name="days">{days}</{prefix}parameter>\n</{prefix}invoke>'
    )


def pairs(city: str, days: int) -> str:
    return (
        f"<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>{city}</arg_value>\n"
        f"<arg_key>days</arg_key>\n<arg_value>{days}</arg_value>\n</tool_call>"
    )


BOTH = {
    "hermes": f"<tool_call>\n{json_call(PARIS)}\n</tool_call>\n<tool_call>\n{json_call(ROME)}\n</tool_call>",
    "qwen3_coder": f"<tool_call>\n{xml_call('Paris', 2)}\n</tool_call>\n<tool_call>\n{xml_call('Rome', 3)}\n</tool_call>",
    "seed_oss": f"<seed:tool_call>\n{xml_call('Paris', 2)}\n</seed:tool_call>\n<seed:tool_call>\n{xml_call('Rome', 3)}\n</seed:tool_call>",
    "llama3_json": f"<|python_tag|>{json_call(PARIS)}; {json_call(ROME)}",
    "pythonic": "[get_weather(city='Paris', days=2), get_weather(city=\"Rome\", days=3)]",
    "lfm2": "<|tool_call_start|>[get_weather(city='Paris', days=2), get_weather(city='Rome', days=3)]<|tool_call_end|>",
    "mistral": f"[TOOL_CALLS][{json_call(PARIS)}, {json_call(ROME)}]",
    "deepseek_v3": DEEPSEEK.format(OLD_CALL.format("get_weather", PARIS) + "\n" + OLD_CALL.format("get_weather", ROME)),
    "deepseek_v31": DEEPSEEK.format(NEW_CALL.format("get_weather", PARIS) + NEW_CALL.format("get_weather", ROME)),
    "deepseek_v32": f"<{DSML}function_calls>\n{invoke('Paris', 2, DSML)}\n{invoke('Rome', 3, DSML)}\n</{DSML}function_calls>",
    "glm45": f"{pairs('Paris', 2)}\n{pairs('Rome', 3)}",
    "kimi_k2": SECTION.format(
        KIMI.format("functions.get_weather:0", PARIS) + KIMI.format("functions.get_weather:1", ROME)
    ),
    "minimax_m2": f"<minimax:tool_call>\n{invoke('Paris', 2)}\n{invoke('Rome', 3)}\n</minimax:tool_call>",
    "minimax_m1": f"<tool_calls>\n{json_call(PARIS)}\n{json_call(ROME)}\n</tool_calls>",
    "granite": f"<|tool_call|>[{json_call(PARIS)}, {json_call(ROME)}]",
    "phi4_mini": f"functools[{json_call(PARIS)}, {json_call(ROME)}]",
    "nemotron": f"<TOOLCALL>[{json_call(PARIS)}, {json_call(ROME)}]</TOOLCALL>",
    "command_r": "<|START_ACTION|>["
    + f'{{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {PARIS}}},'
    + f'{{"tool_call_id": "1", "tool_name": "get_weather", "parameters": {ROME}}}]<|END_ACTION|>',
    "apertus": f'<|tools_prefix|>[{{"get_weather": {PARIS}}}, {{"get_weather": {ROME}}}]<|tools_suffix|>',
    "harmony": f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{PARIS}<|call|>"
    + f"<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{ROME}<|call|>",
    "json": f"[{json_call(PARIS)}, {json_call(ROME)}]",
}
ALONE = ("llama3_json", "pythonic", "json", "harmony")  # their calls are the whole answer
IN_ONE_LIST = (
    "llama3_json",
    "json",
    "pythonic",
    "lfm2",
    "mistral",
    "granite",
    "phi4_mini",
    "nemotron",
    "command_r",
    "apertus",
)


@pytest.mark.parametrize("format", BOTH)
def test_two_calls_are_two_calls_however_the_text_is_cut(format: str) -> None:
    assert read_however_cut(format, BOTH[format], WEATHER) == Read(TWO)


@pytest.mark.req("S1-62")
@pytest.mark.case("TPA-006")
@pytest.mark.parametrize("format", [name for name in BOTH if name not in ALONE])
def test_text_before_and_after_calls_is_kept(format: str) -> None:
    seen = read_however_cut(format, f"I look it up. {BOTH[format]} Done.", WEATHER)
    assert seen.parts[0] == ("text", "I look it up. ") and seen.parts[-1] == ("text", " Done.")
    assert tuple(seen.calls) == TWO


@pytest.mark.parametrize("format", BOTH)
def test_an_answer_without_calls_is_the_answer(format: str) -> None:
    for said in ("Paris: 6 °C, <b>cold</b> & [grey] {really}.", "  spaced  ", "{", "[1, 2]", '{"a": 1}', "عاصمة 🙂"):
        assert read_however_cut(format, said, WEATHER).text == said


@pytest.mark.case("TPA-022")
@pytest.mark.parametrize("format", BOTH)
def test_a_call_that_is_cut_off_is_never_a_call_nor_text(format: str) -> None:
    text = BOTH[format]
    at = text.index("Rome") + 2
    seen = read_however_cut(format, text[:at], WEATHER)
    assert seen.text.strip() == "" and seen.cuts != ()
    assert all(call in TWO for call in seen.calls)
    if format not in IN_ONE_LIST:  # there the first call is not told before the list has ended
        assert seen.calls == [TWO[0]] and [name for name, _ in seen.cuts] == ["get_weather"]


@pytest.mark.case("TPA-022")
def test_marks_of_a_call_that_is_cut_off_do_not_reach_the_user() -> None:
    text = 'Sure.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "Pa'
    assert read_however_cut("deepseek_v3", text) == Read((("text", "Sure."),), (("get_weather", '{"city": "Pa'),))


@pytest.mark.req("S1-60", "S1-62")
@pytest.mark.case("TPA-003")
def test_a_mark_within_a_string_ends_no_call() -> None:
    text = '<tool_call>\n{"name":"write","arguments":{"text":"close with </tool_call> ok"}}\n</tool_call>'
    assert read_however_cut("hermes", text) == Read((("write", {"text": "close with </tool_call> ok"}),))
    quoted = '<tool_call>{"name":"write","arguments":{"text":"\\"}</tool_call>{\\\\"}}</tool_call>'
    assert read_however_cut("hermes", quoted) == Read((("write", {"text": '"}</tool_call>{\\'}),))


@pytest.mark.case("TPA-005")
def test_nested_arguments_keep_their_shape() -> None:
    pieces = [
        '<tool_call>\n{"name":"calc","arguments":{"numbers":',
        ' [{"',
        'v":1},{"v":2}],"opt":{"mode":"rrf"}}',
        "}\n</tool_call>",
    ]
    expected = Read((("calc", {"numbers": [{"v": 1}, {"v": 2}], "opt": {"mode": "rrf"}}),))
    assert read("hermes", pieces) == expected == read_however_cut("hermes", "".join(pieces))


@pytest.mark.case("TPA-006")
def test_calls_and_text_in_one_piece_are_all_there() -> None:
    text = (
        "before <tool_call>\n<function=a>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call> between "
        "<tool_call>\n<function=b>\n</function>\n</tool_call> after"
    )
    seen = read_however_cut("qwen3_coder", text, tools("b", a={"x": "integer"}))
    assert seen == Read((("text", "before "), ("a", {"x": 1}), ("text", " between "), ("b", {}), ("text", " after")))
    assert seen.text == "before  between  after"


@pytest.mark.req("S1-62")
@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\nnot json\n</tool_call>",
        '<tool_call>\n{"name": 1}\n</tool_call> then',
        "<tool_call>\n{broken}\n</tool_call>",
        "<tool_call>",
        "The tag is <tool_call> and </tool_call>.",
    ],
)
def test_what_only_looks_like_a_call_is_text_mark_for_mark(text: str) -> None:
    assert read_however_cut("hermes", text) == Read((("text", text),))


@pytest.mark.req("S1-62")
def test_the_last_call_may_lack_its_closing_mark() -> None:
    assert read_however_cut("hermes", f"<tool_call>\n{json_call(PARIS)}", WEATHER) == Read((TWO[0],))
    assert read_however_cut("qwen3_coder", f"<tool_call>\n{xml_call('Paris', 2)}", WEATHER) == Read((TWO[0],))


@pytest.mark.req("S1-60")
def test_arguments_are_the_text_that_the_model_wrote() -> None:
    from dragoman.engine.parsers import FORMATS, Parser
    from dragoman.types.events import BlockEnd

    said = '{"n": 12345678901234567890.50, "s":"西安 \\u0041"}'
    parser = Parser(FORMATS["hermes"], {}, seed="s")
    events = [*parser.feed(f'<tool_call>{{"name":"f","arguments":{said}}}</tool_call>'), *parser.close()]
    blocks = [event.block for event in events if isinstance(event, BlockEnd)]
    assert [getattr(block, "arguments", None) for block in blocks] == [said]


@pytest.mark.req("S1-61")
def test_ids_are_never_the_models_own_words_and_go_on_counting() -> None:
    from dragoman.engine.parsers import FORMATS, Parser
    from dragoman.types.events import BlockEnd

    def ids(format: str, seed: str, first: int) -> list[str]:
        parser = Parser(FORMATS[format], WEATHER, seed=seed, first=first)
        events = [*parser.feed(BOTH[format]), *parser.close()]
        return [getattr(event.block, "id", "") for event in events if isinstance(event, BlockEnd)]

    for format in BOTH.keys() & FORMATS.keys():
        found = [*ids(format, "one", 0), *ids(format, "one", 2), *ids(format, "two", 4)]
        assert len(set(found)) == 6
    assert ids("kimi_k2", "s", 3) == ["functions.get_weather:3", "functions.get_weather:4"]
    assert all(len(one) == 9 and one.isalnum() for one in ids("mistral", "s", 0))


@pytest.mark.case("TPA-017")
@pytest.mark.parametrize(
    "text",
    [
        '[TOOL_CALLS] [{"name": "calc", "arguments": {"e": "2+3"}}]',
        '[TOOL_CALLS]calc[ARGS]{"e": "2+3"}',
        '[TOOL_CALLS]calc{"e": "2+3"}',
        '[TOOL_CALLS]calc[CALL_ID]abcdefghi[ARGS]{"e": "2+3"}',
        '[TOOL_CALLS] {"name": "calc", "arguments": {"e": "2+3"}}',
    ],
)
def test_every_form_that_mistral_had_is_known(text: str) -> None:
    assert read_however_cut("mistral", text) == Read((("calc", {"e": "2+3"}),))


@pytest.mark.case("TPA-023")
def test_all_calls_of_one_wrapper_are_found_and_written_as_json() -> None:
    text = (
        '<minimax:tool_call>\n<invoke name="a">\n<parameter name="x">1</parameter>\n</invoke>\n'
        '<invoke name="b">\n<parameter name="y">it\'s</parameter>\n</invoke>\n</minimax:tool_call>'
    )
    seen = read_however_cut("minimax_m2", text, tools(a={"x": "integer"}, b={"y": "string"}))
    assert seen == Read((("a", {"x": 1}), ("b", {"y": "it's"})))


@pytest.mark.case("TPA-024")
def test_pythons_spelling_of_an_object_is_read_as_one() -> None:
    text = "<tool_call>{'name': 'read', 'arguments': {'filePath': '/tmp/a.js', 'all': True, 'n': None}}</tool_call>"
    assert read("hermes", [text]) == Read((("read", {"filePath": "/tmp/a.js", "all": True, "n": None}),))
    within = '<tool_call>{"name": "read", "arguments": "{\\"a\\": 1}"}</tool_call>'
    assert read("hermes", [within]) == Read((("read", {"a": 1}),))


@pytest.mark.case("TPA-025")
@pytest.mark.parametrize(
    "header",
    [
        "functions.read_file:0",
        "functions_read_file_3",
        "functionsread_file5",
        "read_file",
        "functions.read_file",
        "read_file:7",
    ],
)
def test_a_header_in_any_form_names_the_offered_tool(header: str) -> None:
    text = SECTION.format(KIMI.format(header, '{"p": "a"}'))
    assert read_however_cut("kimi_k2", text, tools("read_file")) == Read((("read_file", {"p": "a"}),))


@pytest.mark.parametrize(
    ("format", "opening", "closing"),
    [
        ("deepseek_v3", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        ("kimi_k2", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        ("deepseek_v32", f"<{DSML}function_calls>", f"</{DSML}function_calls>"),
        ("minimax_m2", "<minimax:tool_call>", "</minimax:tool_call>"),
    ],
)
def test_words_where_calls_should_stand_are_text(format: str, opening: str, closing: str) -> None:
    assert read_however_cut(format, f"a {opening}none today{closing} b", WEATHER).text == "a none today b"
    assert read_however_cut(format, f"a {opening}none to", WEATHER).text == "a none to"


def test_what_follows_a_call_within_its_marks_and_is_none_is_text() -> None:
    seen = read_however_cut("hermes", f'<tool_call>{json_call(PARIS)}{{"note": 1}}</tool_call> b', WEATHER)
    assert seen == Read((TWO[0], ("text", '{"note": 1} b')))


TWICE_CUT = {
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>a<｜tool▁sep｜>[1]<｜tool▁call▁end｜>"
    + '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Ro',
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>[1]<|tool_call_end|>"
    + '<|tool_call_begin|>functions.get_weather:1<|tool_call_argument_begin|>{"city": "Ro',
    "mistral": '[TOOL_CALLS]a[ARGS]{"x": 1][TOOL_CALLS]get_weather[ARGS]{"city": "Ro',
    "harmony": "<|channel|>commentary to=functions.a <|message|>[1]<|call|>"
    + '<|start|>assistant<|channel|>commentary to=functions.get_weather <|message|>{"city": "Ro',
    "apertus": '<|tools_prefix|>[{"a": [1]}]<|tools_suffix|><|tools_prefix|>[{"get_weather": {"city": "Ro',
}


@pytest.mark.case("TPA-022")
@pytest.mark.parametrize("format", TWICE_CUT)
def test_each_call_that_is_none_is_kept_in_its_order(format: str) -> None:
    seen = read_however_cut(format, TWICE_CUT[format], WEATHER)
    assert (seen.calls, seen.text.strip()) == ([], "")
    raw = "".join(text for _, text in seen.cuts)
    assert "Ro" in raw and "1" in raw
    if format not in ("mistral", "apertus"):  # there the first one has no end, and all behind it is its own
        assert [(name, text) for name, text in seen.cuts] == [("a", "[1]"), ("get_weather", '{"city": "Ro')]


@pytest.mark.case("TPA-022")
@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\nRo"),
        ("seed_oss", "<seed:tool_call>\n<function=get_weather>\n<parameter=city>\nRo"),
        ("glm45", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Ro"),
        ("minimax_m2", '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Ro'),
    ],
)
def test_the_value_in_which_a_call_was_cut_off_is_kept(format: str, text: str) -> None:
    ((name, raw),) = read_however_cut(format, text, WEATHER).cuts
    assert (name, json.loads(raw)["city"].strip()) == ("get_weather", "Ro")


def test_a_bare_call_that_is_cut_off_behind_a_whole_one_is_no_text() -> None:
    seen = read_however_cut("json", f'{json_call(PARIS)}\n{{"na', WEATHER)
    assert (seen.calls, seen.text, seen.cuts) == ([TWO[0]], "", (("", '{"na'),))
