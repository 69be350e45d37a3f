"""Every number on the way from words to words, on a page: `regard look`."""
