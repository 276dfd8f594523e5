"""The gateways: how each is started with one worker before the same upstream, and how it is asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

KEY = "sk-test"
HERE = Path(__file__).resolve().parent
WHOLE, STREAM = "mock", "smock"  # the models that answer whole, and as a stream


class At(NamedTuple):
    """Where a gateway is to listen, where its upstream does, and a folder for what it wants to be told in a file."""

    port: int
    upstream: int
    folder: Path
    peers: Path

    def base(self, *, stream: bool) -> str:
        """The upstream's base address."""
        return f"http://127.0.0.1:{self.upstream}{'/stream' if stream else ''}/v1"


class Gateway(NamedTuple):
    """`start` gives its command, `wires` are those it can be asked on. `prefix` says that streams have an address of their own
    (a gateway that picks its upstream by the path), `headers` what it wants to hear in each request."""

    start: Callable[[At], list[str]]
    version: Callable[[Path], str | None]
    wires: tuple[str, ...] = ("chat",)
    env: Mapping[str, str] = {}
    prefix: bool = False
    headers: Callable[[At, bool], Mapping[str, str]] = lambda _at, _stream: {}
    note: str = ""


def _raw(at: At) -> list[str]:
    return [sys.executable, str(HERE / "serve_raw.py"), str(at.port), f"http://127.0.0.1:{at.upstream}"]


def _dragoman(*options: str) -> Callable[[At], list[str]]:
    def start(at: At) -> list[str]:
        models = [f"--model={name}={at.base(stream=name == STREAM)}#chat:mock" for name in (WHOLE, STREAM)]
        return [str(Path(sys.executable).parent / "dragoman"), "serve", *models, f"--port={at.port}", *options]

    return start


def _portkey(at: At) -> list[str]:
    return ["node", str(_portkey_home(at.peers) / "build" / "start-server.js"), f"--port={at.port}", "--headless"]


def _rosetta(at: At) -> list[str]:
    kinds = {name: {"type": "openai_chat", "api_type": "openai_chat", "api_key": "sk-x"} for name in (WHOLE, STREAM)}
    providers = {name: {**kind, "base_url": at.base(stream=name == STREAM)} for name, kind in kinds.items()}
    said = {
        "providers": providers,
        "models": {name: name for name in providers},
        "server": {"host": "127.0.0.1", "port": at.port, "open_on_no_keys": True},
    }
    config = at.folder / "llm-rosetta.jsonc"
    config.write_text(json.dumps(said))
    return [str(at.peers / "rosetta" / "bin" / "llm-rosetta-gateway"), "-c", str(config)]


def _litellm(at: At) -> list[str]:
    models = [
        {
            "model_name": name,
            "litellm_params": {"model": "openai/mock", "api_base": at.base(stream=name == STREAM), "api_key": "sk-x"},
        }
        for name in (WHOLE, STREAM)
    ]
    config = at.folder / "litellm.yaml"
    config.write_text(json.dumps({"model_list": models, "litellm_settings": {"telemetry": False}}))
    command = str(at.peers / "litellm" / "bin" / "litellm")
    return [command, "--config", str(config), "--port", str(at.port), "--host", "127.0.0.1", "--num_workers", "1"]


def _portkey_headers(at: At, stream: bool) -> Mapping[str, str]:
    return {"x-portkey-provider": "openai", "x-portkey-custom-host": at.base(stream=stream)}


def _portkey_home(peers: Path) -> Path:
    return peers / "portkey" / "node_modules" / "@portkey-ai" / "gateway"


def _portkey_version(peers: Path) -> str | None:
    package = _portkey_home(peers) / "package.json"
    return str(json.loads(package.read_text())["version"]) if package.exists() else None


def _in_venv(folder: str, name: str) -> Callable[[Path], str | None]:
    def of(peers: Path) -> str | None:
        python = peers / folder / "bin" / "python"
        if not python.exists():
            return None
        ask = f"import importlib.metadata as m; print(m.version({name!r}))"
        done = subprocess.run([str(python), "-c", ask], capture_output=True, text=True, check=False)
        return done.stdout.strip() or None

    return of


def _here(name: str) -> Callable[[Path], str | None]:
    def of(_: Path) -> str | None:
        try:
            return version(name)
        except PackageNotFoundError:
            return None

    return of


OURS = {
    " ".join(("dragoman serve", *options)): options
    for options in ((), ("--no-passthrough",), ("--no-passthrough", "--no-ledger"))
}
WRITTEN = "dragoman serve --no-passthrough --no-ledger"  # what is compared: no other gateway here keeps accounts
GATEWAYS: dict[str, Gateway] = {
    "raw passthrough": Gateway(start=_raw, version=_here("aiohttp"), prefix=True),
    **{
        name: Gateway(start=_dragoman(*options), version=_here("dragoman"), wires=("chat", "messages"))
        for name, options in OURS.items()
    },
    "Portkey": Gateway(start=_portkey, version=_portkey_version, headers=_portkey_headers),
    "llm-rosetta": Gateway(start=_rosetta, version=_in_venv("rosetta", "llm-rosetta"), wires=("chat", "messages")),
    "LiteLLM": Gateway(
        start=_litellm,
        version=_in_venv("litellm", "litellm"),
        env={"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    ),
}
INSTALL = {
    "Portkey": "npm install --prefix {peers}/portkey @portkey-ai/gateway",
    "llm-rosetta": "python -m venv {peers}/rosetta && {peers}/rosetta/bin/pip install 'llm-rosetta[gateway]==0.13.*'",
    "LiteLLM": "python -m venv {peers}/litellm && {peers}/litellm/bin/pip install 'litellm[proxy]'",
}


def surroundings(gateway: Gateway, at: At) -> dict[str, str]:
    """The environment of a gateway: ours, without what would send its requests elsewhere or its figures to our ledger."""
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**clean, "HOME": str(at.folder), "DRAGOMAN_HOME": str(at.folder / "home"), **gateway.env}
