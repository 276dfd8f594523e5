"""How one server deviates from its wire, as data: every row with its source."""
