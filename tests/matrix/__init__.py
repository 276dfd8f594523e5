"""Every recorded exchange read twice, by the codecs and by an oracle that knows nothing of them, and compared."""
