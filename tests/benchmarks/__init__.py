"""Speed and memory, measured side by side in one run: ``make bench``.

Absolute times depend on the machine and on what else it does; believe the ratios. Each module has
``main()``, prints its own lines, and says the target beside what it measured.
"""
