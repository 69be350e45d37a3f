"""Every number on the way from words to words, on a page: `regard look`.

`attention` shows the weights of any other framework on the same page; it needs NumPy alone.
"""

from regard.look.attention_view import AttentionView, attention

__all__ = ["AttentionView", "attention"]
