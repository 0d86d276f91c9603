"""Tests; a package, since packages of others install one of this name, as sleap-io does."""
