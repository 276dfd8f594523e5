"""Any model the client side can reach, served to clients of any wire over HTTP."""
