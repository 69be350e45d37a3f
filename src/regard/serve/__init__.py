"""A translator, chatbot and writer over HTTP, for clients that speak LibreTranslate's or OpenAI's interface."""
