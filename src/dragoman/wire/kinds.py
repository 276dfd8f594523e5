"""What a block is called in a note: by the word that its user knows it by."""

from __future__ import annotations

from dragoman.types.content import Content, Foreign, HostedCall, HostedResult


def kind_of(block: Content) -> str:
    """The middle format's word for a block; of one that is a wire's own that wire's word, of one that a provider ran its name
    too."""
    tag = str(type(block).__struct_config__.tag)
    match block:
        case Foreign(kind=kind):
            return repr(kind)
        case HostedCall(name=name) | HostedResult(name=str(name)):
            return f"{tag} ({name})"
        case _:
            return tag
