"""Looks: one palette and one style sheet from a few named colours, light and dark.

Only the tools follow the theme. What a participant looks at has its own fixed ground (`colours.NEUTRAL_RGB`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from string import Template

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QColor, QGuiApplication, QPalette
from PyQt6.QtWidgets import QApplication

PICTURES = Path(__file__).parent / "pictures"
"""Arrows and ticks: a style sheet takes files only."""


class Theme(StrEnum):
    """Which looks to use; SYSTEM follows the desktop."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colours that everything is made of, as #rrggbb; text on ground has a contrast of 4.5 or more."""

    window: str
    surface: str
    sunken: str
    text: str
    muted: str
    border: str
    accent: str
    accent_soft: str
    on_accent: str
    good: str
    warn: str
    bad: str


LIGHT = Tokens(
    window="#f4f6f8",
    surface="#ffffff",
    sunken="#eceff3",
    text="#18212c",
    muted="#515c69",
    border="#d5dbe2",
    accent="#0b5cad",
    accent_soft="#e1edf9",
    on_accent="#ffffff",
    good="#1b6e31",
    warn="#855300",
    bad="#ad211a",
)
DARK = Tokens(
    window="#14181e",
    surface="#1d232b",
    sunken="#262d37",
    text="#e7ebf0",
    muted="#aab4c0",
    border="#39434f",
    accent="#76b5f5",
    accent_soft="#223449",
    on_accent="#0b1420",
    good="#7fd694",
    warn="#efc062",
    bad="#ff9a92",
)


def is_dark(theme: Theme) -> bool:
    """Tell whether a theme comes out dark on this desktop."""
    if theme is Theme.SYSTEM:
        hints = QGuiApplication.styleHints()
        return hints is not None and hints.colorScheme() == Qt.ColorScheme.Dark
    return theme is Theme.DARK


def apply(app: QApplication, theme: Theme) -> Tokens:
    """Give the whole application a theme.

    Returns
    -------
    Tokens
        The colours now in force, for what is drawn by hand.
    """
    tokens = DARK if is_dark(theme) else LIGHT
    app.setProperty("gazelab_dark", tokens is DARK)
    app.setStyle("Fusion")
    app.setPalette(palette(tokens))
    app.setStyleSheet(style_sheet(tokens))
    return tokens


def current() -> Tokens:
    """Give the colours in force, as set by `apply`."""
    app = QApplication.instance()
    return DARK if app is not None and app.property("gazelab_dark") else LIGHT


def palette(tokens: Tokens) -> QPalette:
    """Make Qt's palette from the tokens."""
    out = QPalette()
    role = QPalette.ColorRole
    for name, colour in (
        (role.Window, tokens.window),
        (role.WindowText, tokens.text),
        (role.Base, tokens.surface),
        (role.AlternateBase, tokens.sunken),
        (role.Text, tokens.text),
        (role.Button, tokens.surface),
        (role.ButtonText, tokens.text),
        (role.BrightText, tokens.bad),
        (role.Highlight, tokens.accent),
        (role.HighlightedText, tokens.on_accent),
        (role.ToolTipBase, tokens.surface),
        (role.ToolTipText, tokens.text),
        (role.PlaceholderText, tokens.muted),
        (role.Link, tokens.accent),
        (role.Mid, tokens.border),
        (role.Dark, tokens.border),
    ):
        out.setColor(name, QColor(colour))
    for name in (role.WindowText, role.Text, role.ButtonText):
        out.setColor(QPalette.ColorGroup.Disabled, name, QColor(tokens.muted))
    return out


def style_sheet(tokens: Tokens) -> str:
    """Make the style sheet from the tokens."""
    values = {name: getattr(tokens, name) for name in tokens.__slots__}
    shade = "dark" if tokens is DARK else "light"
    return _SHEET.substitute(values, arrows=PICTURES.as_posix(), shade=shade)


_SHEET = Template("""
QWidget { font-size: 13px; }
QMainWindow, QDialog { background: $window; }
QLabel { background: transparent; }
QLabel[role="title"] { font-size: 21px; font-weight: 600; }
QLabel[role="lead"] { color: $muted; font-size: 14px; }
QLabel[role="heading"] { font-size: 14px; font-weight: 600; }
QLabel[role="muted"] { color: $muted; }
QLabel[role="good"] { color: $good; font-weight: 600; }
QLabel[role="warn"] { color: $warn; font-weight: 600; }
QLabel[role="bad"] { color: $bad; font-weight: 600; }
QLabel[role="notice"] {
    color: $warn; background: $surface; border: 1px solid $warn; border-radius: 6px; padding: 6px 10px;
}
QFrame[role="card"] { background: $surface; border: 1px solid $border; border-radius: 10px; }
QFrame[role="rail"] { background: $surface; border: none; border-right: 1px solid $border; }
QFrame[role="rail"] QPushButton {
    text-align: left; padding: 10px 14px; border: none; border-radius: 8px; background: transparent;
    font-size: 14px;
}
QFrame[role="rail"] QPushButton:hover { background: $sunken; }
QFrame[role="rail"] QPushButton:checked { background: $accent_soft; color: $accent; font-weight: 600; }
QFrame[role="rail"] QPushButton:focus { border: 2px solid $accent; padding: 8px 12px; }
QPushButton, QToolButton {
    background: $surface; border: 1px solid $border; border-radius: 7px; padding: 6px 14px; min-height: 20px;
}
QToolButton { padding: 6px 9px; }
QPushButton:hover, QToolButton:hover { background: $sunken; }
QPushButton:pressed, QToolButton:pressed { background: $border; }
QPushButton:focus, QToolButton:focus { border: 2px solid $accent; padding: 5px 13px; }
QToolButton:focus { padding: 5px 8px; }
QPushButton:checked, QToolButton:checked { background: $accent_soft; border-color: $accent; }
QPushButton:disabled, QToolButton:disabled { color: $muted; background: $sunken; border-style: dashed; }
QPushButton[role="small"] { padding: 1px 10px; min-height: 18px; }
QPushButton[role="link"] {
    background: transparent; border: 1px solid transparent; color: $accent; text-align: left;
    padding: 3px 4px;
}
QPushButton[role="link"]:hover { text-decoration: underline; }
QPushButton[role="link"]:focus { border: 1px solid $accent; }
QPushButton[role="link"]:disabled { color: $muted; background: transparent; border-style: none; }
QPushButton[role="primary"] {
    background: $accent; color: $on_accent; border-color: $accent; font-weight: 600; padding: 8px 18px;
}
QPushButton[role="primary"]:hover { border-color: $text; }
QPushButton[role="primary"]:focus { border: 2px solid $text; padding: 7px 17px; }
QPushButton[role="primary"]:disabled {
    background: $sunken; color: $muted; border: 1px dashed $border; padding: 8px 18px;
}
QLineEdit, QComboBox, QSpinBox, QDoubleSpinBox {
    background: $surface; border: 1px solid $border; border-radius: 7px; padding: 5px 9px; min-height: 20px;
    selection-background-color: $accent; selection-color: $on_accent;
}
QLineEdit:focus, QComboBox:focus, QSpinBox:focus, QDoubleSpinBox:focus {
    border: 2px solid $accent; padding: 4px 8px;
}
QComboBox::drop-down { border: none; width: 24px; }
QComboBox::down-arrow { image: url("$arrows/down-$shade.png"); width: 10px; height: 10px; }
QSpinBox::up-button, QDoubleSpinBox::up-button {
    border: none; background: transparent; width: 22px; subcontrol-position: top right;
}
QSpinBox::down-button, QDoubleSpinBox::down-button {
    border: none; background: transparent; width: 22px; subcontrol-position: bottom right;
}
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow {
    image: url("$arrows/up-$shade.png"); width: 10px; height: 10px;
}
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow {
    image: url("$arrows/down-$shade.png"); width: 10px; height: 10px;
}
QCheckBox::indicator {
    width: 15px; height: 15px; border: 1px solid $muted; border-radius: 4px; background: $surface;
}
QCheckBox::indicator:checked {
    background: $accent; border-color: $accent; image: url("$arrows/tick-$shade.png");
}
QCheckBox::indicator:disabled { border-color: $border; background: $sunken; }
QCheckBox:focus { color: $accent; }
QComboBox { combobox-popup: 0; }
QComboBox QAbstractItemView { background: $surface; border: 1px solid $border; }
QComboBox QAbstractItemView::item { min-height: 26px; padding-left: 8px; }
QTableWidget { background: $surface; border: none; gridline-color: $border; font-size: 12px; }
QTableWidget::item { padding: 3px 6px; }
QHeaderView::section {
    background: $surface; color: $muted; border: none; border-bottom: 1px solid $border; padding: 4px 6px;
}
QListWidget { background: $surface; border: 1px solid $border; border-radius: 7px; }
QTabWidget::pane { border: none; }
QTabBar::tab {
    background: transparent; color: $muted; border: none; border-bottom: 2px solid $border; padding: 6px 12px;
}
QTabBar::tab:selected { color: $accent; border-bottom-color: $accent; font-weight: 600; }
QTabBar::tab:focus { background: $accent_soft; }
QProgressBar { background: $sunken; border: none; border-radius: 4px; min-height: 8px; max-height: 8px; }
QProgressBar::chunk { background: $accent; border-radius: 4px; }
QScrollArea { border: none; background: transparent; }
QScrollArea > QWidget > QWidget { background: transparent; }
QScrollBar:horizontal { height: 8px; background: transparent; margin: 0; }
QScrollBar:vertical { width: 8px; background: transparent; margin: 0; }
QScrollBar::handle { background: $border; border-radius: 4px; min-width: 24px; min-height: 24px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QToolTip { background: $surface; color: $text; border: 1px solid $border; padding: 4px 6px; }
QStatusBar { background: $surface; color: $muted; border-top: 1px solid $border; padding-left: 14px; }
QStatusBar::item { border: none; }
QMenuBar { background: $surface; }
QMenuBar::item:selected, QMenu::item:selected { background: $accent_soft; color: $text; }
QMenu { background: $surface; border: 1px solid $border; }
""")
