"""Ollama's own chat: one JSON object a line, arguments as objects, settings under `options`."""

from __future__ import annotations

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.errors import RemoteError
from dragoman.wire.base import Exchange, Http, Peek, StreamDecoder, StreamEncoder
from dragoman.wire.ollama import errors, reply, request
from dragoman.wire.ollama.emit import OllamaStreamEncoder
from dragoman.wire.ollama.stream import OllamaStreamDecoder
from dragoman.wire.passthrough import peek_body, readdress_body


class _Said(msgspec.Struct):
    stream: bool | None = None


_said = msgspec.json.Decoder(_Said)


class Ollama:
    """The codec of this wire: see `dragoman.wire.base.Wire` for what each function promises."""

    id = "ollama"
    encode_request = staticmethod(request.encode_request)
    decode_request = staticmethod(request.decode_request)
    encode_reply = staticmethod(reply.encode_reply)
    decode_reply = staticmethod(reply.decode_reply)
    encode_error = staticmethod(errors.encode_error)
    decode_error = staticmethod(errors.decode_error)

    def peek(self, http: Http, dialect: Dialect) -> Peek:
        """Nobody has to ask for a stream here: it comes unless `stream` is false."""
        found = peek_body(http.body)
        try:
            stream = _said.decode(http.body).stream is not False
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise RemoteError("bad_json", str(error)) from None
        return msgspec.structs.replace(found, stream=stream)

    def readdress(self, http: Http, model: str, dialect: Dialect) -> Http:
        return readdress_body(http, model)

    def stream_decoder(self, dialect: Dialect, exchange: Exchange) -> StreamDecoder:
        return OllamaStreamDecoder(dialect, exchange)

    def stream_encoder(self, dialect: Dialect, exchange: Exchange) -> StreamEncoder:
        return OllamaStreamEncoder(dialect, exchange)


wire = Ollama()
