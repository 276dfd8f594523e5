"""Which provider speaks which wire, at which address, with which key: data, and the way from a name to a Target."""
