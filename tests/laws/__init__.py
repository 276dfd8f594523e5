"""The laws L1 to L10 of docs/architecture.md, each a property test over every wire."""
