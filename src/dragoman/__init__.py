"""Any agent, any language model, any wire format; nothing lost unless it says so."""

__version__ = "0.1.0"
