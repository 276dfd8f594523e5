"""Record the terminal session of docs/chat.md: `python tools/chat_session.py [--check]`.

A real `dragoman chat` on a terminal of its own, over sockets, against providers that answer by script. What people see is
written between the marks of the page; names of files and ports, which differ each time, are made the same.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dragoman.testing import FakeProvider

PAGE = Path(__file__).resolve().parent.parent / "docs" / "chat.md"
MARKS = ("<!-- recorded -->\n", "<!-- end of the recording -->")
MAIN = "from dragoman.cli import main; main()"
CONFIG = """[aliases]
one = "{one}"
two = "{two}"
"""
FIRST = [
    {"calls": [{"name": "read", "arguments": {"path": "notes.txt"}}], "usage": {"input": 210, "output": 12}},
    {"text": "The port is 8080.", "usage": {"input": 240, "output": 7}},
    {
        "text": "I write it down.",
        "calls": [{"id": "call_2", "name": "write", "arguments": {"path": "port.txt", "content": "8080\n"}}],
        "usage": {"input": 260, "output": 20},
    },
    {"text": "It is in port.txt.", "usage": {"input": 300, "output": 6}},
]
SECOND = [
    {"text": "端口是 8080,已写入 port.txt。", "usage": {"input": 330, "output": 16}},
    {"quirks": ["silence-in-stream"], "text": "Let me think about that for a while"},
    {"text": "Yes.", "usage": {"input": 350, "output": 2}},
]
TYPED: tuple[tuple[str, str], ...] = (  # what is waited for, and what is typed then
    ("> ", "Which port is in notes.txt?\n"),
    ("> ", "Write it to port.txt.\n"),
    ("instead", "y\n"),
    ("> ", "/model two\n"),
    ("> ", "用中文再说一遍。\n"),
    ("> ", "What is the meaning of port numbers?\n"),
    ("Let me think", "\x03"),
    ("> ", "/undo\n"),
    ("> ", "/cost\n"),
    ("> ", "/quit\n"),
)


def record() -> str:
    """What the terminal showed."""
    with (
        tempfile.TemporaryDirectory() as name,
        FakeProvider("chat", script=FIRST) as one,
        FakeProvider("messages", script=SECOND) as two,
    ):
        folder = Path(name)
        (folder / "notes.txt").write_text("The port is 8080.\n")
        (folder / "dragoman.toml").write_text(CONFIG.format(one=one.spec, two=two.spec))
        shown = _terminal(folder)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", shown.replace("\r\n", "\n"))
    shown = shown.replace(one.url, "http://127.0.0.1:1").replace(two.url, "http://127.0.0.1:2")
    return shown.replace(str(folder), "~")


def _terminal(folder: Path) -> str:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "DRAGOMAN_HOME": str(folder / "home"),
        "DRAGOMAN_CONFIG": str(folder / "dragoman.toml"),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }
    arguments = ["chat", "--model", "one", "--tools", "read,write", "--no-ledger"]
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        cwd=folder,
        env=env,
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(side)
    shown, seen = "", 0
    for wait, said in TYPED:
        shown, seen = _until(main, shown, seen, wait)
        os.write(main, said.encode())
    shown, _ = _until(main, shown, seen, "\0")
    process.wait(timeout=30)
    os.close(main)
    return shown


def _take_terminal() -> None:
    """Ctrl-C goes to whoever has the terminal."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _until(main: int, shown: str, seen: int, wait: str) -> tuple[str, int]:
    """Read until `wait` was shown after place `seen`, or the other end is closed."""
    until = time.monotonic() + 20
    data = shown.encode()
    while (at := data.decode("utf-8", "ignore").find(wait, seen)) < 0 and time.monotonic() < until:
        if not select.select([main], [], [], 0.5)[0]:
            continue
        try:
            part = os.read(main, 4096)
        except OSError:
            break
        if not part:
            break
        data += part
    text = data.decode("utf-8", "ignore")
    return text, (at + len(wait) if at >= 0 else len(text))


def written(page: str) -> str:
    """The page with what the terminal shows now."""
    before, _, rest = page.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    shown = "\n".join(line.rstrip() for line in record().strip().splitlines())
    return f"{before}{MARKS[0]}```\n$ dragoman chat --model one --tools read,write\n{shown}\n```\n{MARKS[1]}{after}"


def main() -> int:
    """Write the page, or say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    made = written(page)
    if options.check:
        print("up to date" if made == page else "docs/chat.md is not what is shown: python tools/chat_session.py")
        return made != page
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
