"""A local model's text becomes text, reasoning and calls again, piece by piece, in the format it was taught."""

from dragoman.engine.parsers.formats import FORMATS, Format, picked
from dragoman.engine.parsers.parser import Parser

__all__ = ["FORMATS", "Format", "Parser", "picked"]
