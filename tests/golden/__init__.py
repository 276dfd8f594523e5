"""What the source documents print, to the byte; read from beside the project, and skipped where it is absent."""
