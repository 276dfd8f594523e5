"""Who may do what: judged where a call would run, on its checked arguments, by rules that no text can lift (S4-35).

A rule is a tool's name, or a name and a pattern: `edit`, `edit:src/*`, `shell:git status*`. deny beats ask, ask beats
allow, and where no rule speaks the class of the tool decides. A path that leads out of its root is denied whatever the
rules say. Patterns of commands match simple commands only: what chains, redirects or substitutes matches none.
"""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from dragoman.agent.values import Judgement, Verdict
from dragoman.errors import UsageError
from dragoman.passed import hold, hold_fields, hold_several
from dragoman.tools.base import Access, AnyTool, Traits
from dragoman.tools.command import simple_words
from dragoman.tools.words import closest, names
from dragoman.types.content import ToolCall

# What a class of tools may do where no rule speaks, and what it is that it does.
CLASSES: dict[Access, Verdict] = {"read": "allow", "write": "ask", "execute": "ask", "network": "ask", "send": "ask"}
DOES: dict[Access, str] = {
    "read": "reads",
    "write": "changes files",
    "execute": "runs programs",
    "network": "fetches from elsewhere",
    "send": "sends or changes something elsewhere",
}
DELICATE = ".git"  # what is written there runs with the next git command: only a rule that names it allows that
LONGEST = 200  # a suggested rule beyond this is one for the whole tool


class Rule(msgspec.Struct, frozen=True):
    """A tool, or those of its calls whose path, command or subject matches `pattern` (`*` and `?` as in file names)."""

    tool: str
    pattern: str | None = None

    @classmethod
    def of(cls, said: str) -> Rule:
        """`tool` or `tool:pattern`. Raises UsageError for a rule of no tool, or of all: there is no yes to everything."""
        hold("rule", said, str, "a text, as `shell` or `shell:git *`")
        name, colon, pattern = said.partition(":")
        if not name.strip() or any(mark in name for mark in "*?["):
            raise UsageError("usage", f"rule {said!r}: name one tool, as `shell` or `shell:git *`")
        if colon and not pattern:
            raise UsageError("usage", f"rule {said!r}: after the colon comes a pattern, as in `shell:git *`")
        return cls(name.strip(), pattern if colon else None)

    def __str__(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}:{self.pattern}"


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The rules. `root` is the folder that paths may not leave (the working folder by default; a tool's own goes first),
    `classes` what a class may do where no rule speaks and it differs from CLASSES.
    """

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    classes: dict[Access, Verdict] = {}
    root: str | None = None

    def __post_init__(self) -> None:
        hold_fields(self)

    @classmethod
    def of(
        cls, *, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = (), root: str | None = None
    ) -> Policy:
        """A policy of rules as people write them."""
        for name, rules in (("allow", allow), ("ask", ask), ("deny", deny)):
            hold_several(name, rules, 'a list of rules, as ["shell:git *"]')
        lists = (tuple(Rule.of(said) for said in rules) for rules in (allow, ask, deny))
        allowed, asked, denied = lists
        return cls(allow=allowed, ask=asked, deny=denied, root=root)


class Gate:
    """A policy over the tools it is about: called with a call and its checked arguments, it gives the judgement.

    Raises UsageError for a rule about a tool that there is none of, or about something that tool does not have.
    """

    def __init__(self, policy: Policy, tools: Iterable[AnyTool]) -> None:
        self._traits = {item.definition.name: item.traits for item in tools}
        self.policy = policy
        self._root = policy.root or os.getcwd()
        for rule in (*policy.allow, *policy.ask, *policy.deny):
            self._check(rule)

    def allow(self, said: str) -> None:
        """One more rule that allows, from now on: what somebody answers who does not want to be asked again."""
        rule = Rule.of(said)
        self._check(rule)
        self.policy = msgspec.structs.replace(self.policy, allow=(*self.policy.allow, rule))

    def __call__(self, call: ToolCall, arguments: Mapping[str, Any]) -> Judgement:
        """Whether this call may run: what stands in the rules, never what stands in a text."""
        traits = self._traits.get(call.name)
        if traits is None:
            return Judgement(verdict="deny", why=f"there is no tool `{call.name}`")
        subjects = self._subjects(traits, arguments)
        if isinstance(subjects, str):
            return Judgement(verdict="deny", why=subjects)
        delicate = traits.access == "write" and any(DELICATE in subject.split("/") for subject in subjects)
        order: tuple[Verdict, ...] = ("deny", "ask", "allow")
        for verdict in order:
            for rule in getattr(self.policy, verdict):
                if verdict == "allow" and delicate and DELICATE not in (rule.pattern or ""):
                    continue
                if rule.tool == call.name and _matches(rule, traits, subjects, strict=verdict == "allow"):
                    return _judged(verdict, f"the rule `{rule}` says so", rule, traits, subjects)
        usual = self.policy.classes.get(traits.access, CLASSES[traits.access])
        usual = "ask" if delicate and usual == "allow" else usual
        does = f"{DOES[traits.access]} of {DELICATE}, which git runs or obeys" if delicate else DOES[traits.access]
        return _judged(usual, f"`{call.name}` {does}", Rule(call.name), traits, subjects)

    def _check(self, rule: Rule) -> None:
        traits = self._traits.get(rule.tool)
        if traits is None:
            meant = closest(rule.tool, self._traits)
            hint = f"; did you mean `{meant}`?" if meant else ""
            raise UsageError(
                "usage", f"rule {str(rule)!r}: there is no tool `{rule.tool}`{hint} ({names(self._traits)})"
            )
        if rule.pattern is not None and not (traits.paths or traits.command or traits.subject):
            raise UsageError("usage", f"rule {str(rule)!r}: `{rule.tool}` has nothing that a pattern could match")

    def _subjects(self, traits: Traits, arguments: Mapping[str, Any]) -> tuple[str, ...] | str:
        """What patterns are matched against: the paths, relative to the root, else the command or the subject.

        A path that leads out of the root is told in words instead.
        """
        root = os.path.realpath(traits.root or self._root)
        found: list[str] = []
        for name in traits.paths:
            for path in _strings(arguments.get(name)):
                inside = below(root, path)
                if inside is None:
                    return f"`{path[:LONGEST]}` is outside the working folder, which no rule can open"
                found.append(inside)
        for name in (traits.command, traits.subject):
            found += _strings(arguments.get(name)) if name is not None else ()
        return tuple(found)


def below(root: str, path: str) -> str | None:
    """`path` relative to `root`, all links followed; None where it leads out of it, or cannot be a path."""
    try:
        real = os.path.realpath(os.path.join(root, path))
        inside = os.path.commonpath([root, real]) == root
    except (ValueError, OSError):
        return None
    return os.path.relpath(real, root) if inside else None


def refusal(call: ToolCall, judgement: Judgement, *, asked: str | None = None) -> str:
    """What the model reads of a call that may not run. `asked`: what somebody said to it; None where nobody could."""
    head = f"not permitted, `{call.name}` was not executed: "
    if judgement.verdict == "deny":
        return f"{head}{judgement.why}."
    if asked is not None:
        return f"{head}{asked}."
    grant = f" Whoever runs this can allow it with --allow {shlex.quote(judgement.grant)}." if judgement.grant else ""
    return f"{head}{judgement.why}, and nobody is here to be asked.{grant}"


def _judged(verdict: Verdict, why: str, rule: Rule, traits: Traits, subjects: tuple[str, ...]) -> Judgement:
    """The judgement, with the narrowest rule that would have allowed the call."""
    exact = subjects[0] if len(subjects) == 1 else None
    if exact is not None and traits.command is not None:
        words = simple_words(exact)
        exact = None if words is None else " ".join(words)
        why = f"{why}, and this is no simple command" if words is None and verdict == "ask" else why
    grant = rule.tool if exact is None else f"{rule.tool}:{glob.escape(exact)}"
    return Judgement(verdict=verdict, why=why, grant=grant if len(grant) <= LONGEST else rule.tool)


def _matches(rule: Rule, traits: Traits, subjects: tuple[str, ...], *, strict: bool) -> bool:
    """Whether a rule is about a call. A rule that allows must match all of it (`strict`); one that asks or denies any of
    it, and a command that cannot be looked through counts as matched.
    """
    if rule.pattern is None:
        return True
    pattern = rule.pattern
    if traits.command is not None:
        parsed = [simple_words(subject) for subject in subjects]
        found = [not strict if words is None else fnmatchcase(" ".join(words), pattern) for words in parsed]
    else:
        found = [fnmatchcase(subject, pattern) for subject in subjects]
    return bool(found) and (all(found) if strict else any(found))


def _strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()
