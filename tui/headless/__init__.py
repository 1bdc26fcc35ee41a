"""The commands that need no console: each takes the parsed arguments and returns an exit code."""
