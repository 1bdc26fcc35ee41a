"""Hosts that are only imagined: one model of a machine, its wrapper's answers, and its faults.

Everything above :class:`~backends.transports.transport.Transport` works on them as on real ones; a
contract test holds the model to the real wrapper.
"""
