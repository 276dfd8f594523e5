"""Reasoning state through a client of another wire: hidden in a slot which that client echoes, restored when it comes back."""

from dragoman.carriers.back import carries as carries
from dragoman.carriers.back import uncarry_request as uncarry_request
from dragoman.carriers.out import carry_reply as carry_reply
from dragoman.carriers.store import Carrier as Carrier
from dragoman.carriers.store import MemoryStore as MemoryStore
from dragoman.carriers.store import Store as Store
from dragoman.carriers.stream import CarryStream as CarryStream
