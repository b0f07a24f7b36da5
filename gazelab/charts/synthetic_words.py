"""The words and colours that a synthetic chart may use.

The embedded teaching model reads charts at 256x192, so every label is a short
word from a closed list; what it cannot know it must not be asked to read.
"""

from __future__ import annotations

THEMES: dict[str, tuple[str, ...]] = {
    "fruit": ("Apple", "Banana", "Cherry", "Grape", "Lemon", "Mango", "Melon", "Peach", "Pear", "Plum"),
    "country": (
        "Brazil",
        "Canada",
        "Chile",
        "China",
        "Egypt",
        "France",
        "India",
        "Italy",
        "Japan",
        "Kenya",
        "Mexico",
        "Norway",
        "Peru",
        "Spain",
        "Turkey",
    ),
    "animal": ("Bear", "Cat", "Cow", "Dog", "Eagle", "Fox", "Horse", "Lion", "Tiger", "Wolf"),
    "sport": ("Boxing", "Cricket", "Cycling", "Golf", "Hockey", "Judo", "Rowing", "Rugby", "Tennis"),
    "month": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "year": tuple(str(year) for year in range(2010, 2025)),
}
"""Category labels by theme; a chart takes all of its categories from one theme."""

ORDERED_THEMES = ("month", "year")
"""Themes whose words have an order: a line chart takes a run of neighbours from them."""

SERIES: tuple[tuple[str, ...], ...] = (
    ("Men", "Women"),
    ("Boys", "Girls"),
    ("Urban", "Rural"),
    ("Online", "Retail"),
    ("North", "South", "East", "West"),
    ("Child", "Adult", "Senior"),
    ("Train", "Bus", "Car"),
)
"""Names of the series of a grouped chart; one row is used at a time."""

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (214, 39, 40),
    "orange": (255, 140, 20),
    "yellow": (235, 205, 50),
    "green": (44, 150, 60),
    "blue": (40, 100, 200),
    "purple": (130, 70, 180),
    "pink": (240, 140, 190),
    "brown": (130, 85, 55),
}
"""Colour name to sRGB; a chart shifts each a little so that no single value is learned."""

MEASURES = ("Sales", "Visitors", "Exports", "Votes", "Hours", "Members", "Reports", "Tickets")
"""First word of a chart's title."""


def label_words() -> tuple[str, ...]:
    """All category and series labels, lower case, in a fixed order without repeats."""
    words = [word.lower() for theme in THEMES.values() for word in theme]
    words += [word.lower() for row in SERIES for word in row]
    return tuple(dict.fromkeys(words))
