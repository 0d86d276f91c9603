"""Common start points and directions of closed outlines."""
