"""Guards SECURITY.md's promise: nothing is sent anywhere but to the model you name. No telemetry, no update check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import shape_rules as rules

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "dragoman"

# An address with a host in it; `http://` alone, and an f-string's scheme, are no address.
ADDRESS = re.compile(r"\b(?:https?|wss?|ftp)://(?!127\.|localhost|\[::1\])[\w-]+(?:\.[\w-]+)+[^\s\"'<>)]*")
DATA = frozenset({"catalog"})  # the addresses of providers: where a named model is looked up, and nothing else
NAMES = ("https://json-schema.org/",)  # a name that looks like an address; nothing opens it

# Every module is imported and one request translated with a hook that hears of each socket, name look-up and process.
QUIET = dedent("""
    import sys
    heard = []
    WATCHED = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "subprocess.Popen")
    sys.addaudithook(lambda event, args: heard.append(event) if event in WATCHED else None)
    import importlib, pkgutil
    import dragoman
    for module in pkgutil.walk_packages(dragoman.__path__, "dragoman."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    from dragoman.dialect.model import BASE
    from dragoman.types import Request, user
    from dragoman.wire import WIRES, find
    from dragoman.wire.base import Exchange
    for name in WIRES:
        sent = find(name).encode_request(Request(model="m", messages=(user("hi"),)), BASE, Exchange()).http
        find(name).decode_request(sent, BASE, Exchange())
    print(*heard)
""")
LOUD = "import sys\nsys.addaudithook(lambda e, a: print(e) if e == 'socket.connect' else None)\n" + dedent("""
    import socket
    with socket.socket() as probe:
        probe.connect_ex(("127.0.0.1", 9))
""")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_and_converting_open_no_socket() -> None:
    assert run(QUIET) == ""


def test_the_hook_would_hear_a_connection() -> None:
    assert run(LOUD) == "socket.connect"


def addresses(path: Path) -> Iterator[str]:
    """The addresses in a file's strings; in Python those in docstrings and comments apart, in TOML the sources."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        source = rules.Source.of(text)
        prose = {id(node) for node in rules.docstrings(source)}
        strings = (node for node in source.nodes if isinstance(node, ast.Constant) and id(node) not in prose)
        text = "\n".join(str(node.value) for node in strings if isinstance(node.value, str | bytes))
    else:
        text = re.sub(r"(?m)^\s*(#.*|source\s*=.*)$", "", text)
    yield from (found for found in ADDRESS.findall(text) if not found.startswith(NAMES))


def test_no_address_is_written_into_the_code() -> None:
    files = [path for path in PACKAGE.rglob("*") if path.suffix in {".py", ".toml", ".json", ".html", ".js"}]
    looked = [path for path in files if path.relative_to(PACKAGE).parts[0] not in DATA]
    assert looked
    assert [(str(path.relative_to(PACKAGE)), found) for path in looked for found in addresses(path)] == []


def test_an_address_would_be_seen(tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    code.write_text(
        "'''See https://docs.example.com/.'''\nURL = 'https://stats.example.com/v1'  # http://b.example.com\n"
    )
    data = tmp_path / "data.toml"
    data.write_text('source = "https://docs.example.com/"\nping = "https://ping.example.com"\n')
    assert list(addresses(code)) == ["https://stats.example.com/v1"]
    assert list(addresses(data)) == ["https://ping.example.com"]
