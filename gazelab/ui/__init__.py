"""The window: Qt only here and in app."""
