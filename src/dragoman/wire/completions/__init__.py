"""Legacy text completions: a prompt in, its continuation out, and nothing of roles or tools."""

from __future__ import annotations

from dragoman.dialect.model import Dialect
from dragoman.wire.base import Exchange, Http, Peek, StreamDecoder, StreamEncoder
from dragoman.wire.completions import errors, reply, request
from dragoman.wire.completions.emit import CompletionStreamEncoder
from dragoman.wire.completions.stream import CompletionStreamDecoder
from dragoman.wire.passthrough import peek_body, readdress_body


class Completions:
    """The codec of text completions: see `dragoman.wire.base.Wire` for what each function promises."""

    id = "completions"
    encode_request = staticmethod(request.encode_request)
    decode_request = staticmethod(request.decode_request)
    encode_reply = staticmethod(reply.encode_reply)
    decode_reply = staticmethod(reply.decode_reply)
    encode_error = staticmethod(errors.encode_error)
    decode_error = staticmethod(errors.decode_error)

    def peek(self, http: Http, dialect: Dialect) -> Peek:
        return peek_body(http.body)

    def readdress(self, http: Http, model: str, dialect: Dialect) -> Http:
        return readdress_body(http, model)

    def stream_decoder(self, dialect: Dialect, exchange: Exchange) -> StreamDecoder:
        return CompletionStreamDecoder(dialect, exchange)

    def stream_encoder(self, dialect: Dialect, exchange: Exchange) -> StreamEncoder:
        return CompletionStreamEncoder(dialect, exchange)


wire = Completions()
