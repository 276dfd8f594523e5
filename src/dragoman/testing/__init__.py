"""What tests of code that talks to models need: a provider that misbehaves on purpose, and a clock that one moves by hand."""

from dragoman.testing.clock import FakeClock as FakeClock
from dragoman.testing.fake import FakeProvider as FakeProvider
from dragoman.testing.fake import Received as Received
from dragoman.testing.quirks import QUIRKS as QUIRKS
