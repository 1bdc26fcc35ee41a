"""The manual, as programs that fail when it is wrong."""
