"""What a profile's patterns cost, and how the costly ones are run without harm."""
