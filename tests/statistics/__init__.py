"""Simulations behind docs/statistics.md: how often the rules are right, counted on made-up noise.

``make statistics`` runs them all and writes the tables of the document; they are seeded, and
vectorised with numpy and scipy. That they do what the product does is tested in
tests/unit/results/test_simulated_figures.py.
"""
