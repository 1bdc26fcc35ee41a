"""Real servers, machines and processes for the tests, and the few fakes."""
