"""The text front end's data: fetched as the recipe pins it, read as data, and written as one file."""
