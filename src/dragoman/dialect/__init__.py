"""How one server, or one client, deviates from its wire, as data: every row with its source."""
