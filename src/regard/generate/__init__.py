"""Text that a model writes on: stories, replies, blanks filled in."""
