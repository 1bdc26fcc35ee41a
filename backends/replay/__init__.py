"""A recorded campaign, seen again as it was: the console follows a copy that grows as it did."""
