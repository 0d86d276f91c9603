"""Collections of configurations that can be read in blocks, whatever they are stored in."""
