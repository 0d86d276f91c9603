"""Pages: what was learned, for people to read."""
