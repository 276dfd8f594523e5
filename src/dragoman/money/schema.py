"""The tables of a ledger, version by version, and the one query over them."""

from __future__ import annotations

# What makes version n of version n - 1; `PRAGMA user_version` holds the version of a file. Never change one that was
# released: add the next.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE calls (
            id INTEGER PRIMARY KEY,
            started TEXT NOT NULL,
            session TEXT NOT NULL,
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            wire TEXT,
            outcome TEXT NOT NULL,
            attempts INTEGER NOT NULL,
            tier TEXT,
            input INTEGER,
            output INTEGER,
            cache_read INTEGER,
            cache_write INTEGER,
            cache_write_1h INTEGER,
            reasoning INTEGER,
            counted TEXT NOT NULL,
            fresh_cost INTEGER,
            cache_read_cost INTEGER,
            cache_write_cost INTEGER,
            output_cost INTEGER,
            cost INTEGER,
            label TEXT,
            full INTEGER,
            prices TEXT,
            said TEXT NOT NULL,
            first_event REAL,
            first_text REAL,
            first_call REAL,
            total REAL
        )
        """,
        "CREATE INDEX calls_session ON calls (session)",
        "CREATE INDEX calls_started ON calls (started)",
    ),
)
VERSION = len(MIGRATIONS)

# What calls may have in common: an expression of its name. A turn is one call of its session.
NAMES: dict[str | None, str] = {
    None: "'all'",
    "model": "provider || '/' || model",
    "day": "substr(started, 1, 10)",
    "session": "session",
    "turn": "session || ' ' || turn",
}
# Stops that are no failures; every other outcome is the code of an error.
ENDS = "'end', 'length', 'stop_sequence', 'tool_calls', 'refusal', 'filter', 'pause', 'context', 'malformed', 'other'"
# The columns stand in the order of Totals.
TOTALS = f"""
    SELECT name, calls, sums.attempts, failed, unpriced, sums.input, sums.output, sums.cache_read, sums.cache_write,
        sums.reasoning, sums.fresh_cost, sums.cache_read_cost, sums.cache_write_cost, sums.output_cost, sums.cost,
        sums.full, sums.label, coalesce(calls.input, 0), seconds
    FROM (
        SELECT {{name}} AS name, count(*) AS calls, sum(attempts) AS attempts,
            sum(outcome NOT IN ({ENDS})) AS failed, sum(cost IS NULL) AS unpriced,
            coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output,
            coalesce(sum(cache_read), 0) AS cache_read, coalesce(sum(cache_write), 0) AS cache_write,
            coalesce(sum(reasoning), 0) AS reasoning,
            coalesce(sum(fresh_cost), 0) AS fresh_cost, coalesce(sum(cache_read_cost), 0) AS cache_read_cost,
            coalesce(sum(cache_write_cost), 0) AS cache_write_cost, coalesce(sum(output_cost), 0) AS output_cost,
            coalesce(sum(cost), 0) AS cost, coalesce(sum(full), 0) AS full,
            CASE WHEN sum(label = 'estimated') THEN 'estimated' WHEN sum(label = 'derived') THEN 'derived'
                WHEN sum(label = 'reported') THEN 'reported' END AS label,
            max(CASE WHEN input IS NOT NULL THEN id END) AS last, min(id) AS first, total(total) AS seconds
        FROM (SELECT *, row_number() OVER (PARTITION BY session ORDER BY id) AS turn FROM calls)
        {{where}}
        GROUP BY 1
    ) AS sums LEFT JOIN calls ON calls.id = last
    ORDER BY first
"""
