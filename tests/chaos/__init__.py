"""Real hosts, real consoles and random real faults, for as many minutes as one likes.

What the simulation plays in virtual time happens here with sshd in network namespaces, so that a
model that flatters the program is found out. Needs root and iproute2.
"""
