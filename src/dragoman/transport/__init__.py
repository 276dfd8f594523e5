"""The only code that opens sockets: one request out, one answer in, whatever library carries it."""
