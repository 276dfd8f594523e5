"""OpenAI Responses and everything that calls itself compatible with it."""

from __future__ import annotations

from dragoman.dialect.model import Dialect
from dragoman.wire.base import Exchange, Http, Peek, StreamDecoder, StreamEncoder
from dragoman.wire.counting import decode_count
from dragoman.wire.passthrough import peek_body, readdress_body
from dragoman.wire.responses import count, errors, reply, request
from dragoman.wire.responses.emit import ResponsesStreamEncoder
from dragoman.wire.responses.stream import ResponsesStreamDecoder


class Responses:
    """The Responses codec: see `dragoman.wire.base.Wire` for what each function promises."""

    id = "responses"
    encode_request = staticmethod(request.encode_request)
    decode_request = staticmethod(request.decode_request)
    encode_reply = staticmethod(reply.encode_reply)
    decode_reply = staticmethod(reply.decode_reply)
    encode_error = staticmethod(errors.encode_error)
    decode_error = staticmethod(errors.decode_error)
    count_request = staticmethod(count.count_request)
    decode_count = staticmethod(decode_count)

    def peek(self, http: Http, dialect: Dialect) -> Peek:
        return peek_body(http.body)

    def readdress(self, http: Http, model: str, dialect: Dialect) -> Http:
        return readdress_body(http, model)

    def stream_decoder(self, dialect: Dialect, exchange: Exchange) -> StreamDecoder:
        return ResponsesStreamDecoder(dialect, exchange)

    def stream_encoder(self, dialect: Dialect, exchange: Exchange) -> StreamEncoder:
        return ResponsesStreamEncoder(dialect, exchange)


wire = Responses()
