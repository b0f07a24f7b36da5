"""For people who learn how such a model works: its words among themselves, and its vectors, made visible."""
