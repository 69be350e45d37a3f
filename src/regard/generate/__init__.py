"""Text that a model writes on: stories, replies, blanks filled in."""

STORY_WORDS = 120  # words to write when nobody says how many
