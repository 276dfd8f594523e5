"""Real clients, unchanged, through `dragoman serve`."""
