"""The command `regard`: one file a verb, thin over the same things in Python."""
