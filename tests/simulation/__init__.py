"""Whole campaigns over simulated hosts, in virtual time, under a seed's faults.

The command line, the controller, the journal, the lock and the client are the real ones. What is
replaced lies at the edges: the event loop's clock and order, threads, what a kill leaves on disk.
"""
