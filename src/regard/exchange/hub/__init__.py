"""Models from elsewhere and to elsewhere: archives and folders of the web, and the Hugging Face hub."""
