"""The window's composition root: arguments → objects → window; faults, logging, language."""

from __future__ import annotations

import argparse
import logging
import logging.handlers
import os
import sys
from dataclasses import replace
from pathlib import Path

from PyQt6.QtCore import QLibraryInfo, QLocale, QTimer, QTranslator
from PyQt6.QtGui import QIcon
from PyQt6.QtWidgets import QApplication

from gazelab.calibration.plan import Style
from gazelab.calibration.targets import LAYOUTS
from gazelab.config import find_data_root, load_settings
from gazelab.core.errors import ConfigError, GazelabError
from gazelab.core.participant import check_participant
from gazelab.core.process import leave
from gazelab.processing.detectors import DETECTORS
from gazelab.settings import Settings
from gazelab.ui import theme
from gazelab.ui.faults import FaultReporter
from gazelab.ui.fonts import install_fallback
from gazelab.ui.icon import app_icon
from gazelab.ui.interrupts import Interrupts
from gazelab.ui.live_sources import SourceKind
from gazelab.ui.main_window import MainWindow
from gazelab.ui.theme import Theme
from gazelab.ui.tour import Tour
from gazelab.ui.workspace import Workspace

log = logging.getLogger(__name__)

PAGES = ("setup", "calibrate", "record", "replay", "explore")
LOG_NAME = "gazelab.log"
LOG_BYTES = 1_000_000
TRANSLATIONS = Path(__file__).parent / "ui" / "translations"

_alive: list[QApplication] = []
"""Outlives `main`, whose frame would drop the application before its windows: Qt may crash on that."""


def main(argv: list[str] | None = None) -> int:
    """Open the window and stay until it is closed.

    Parameters
    ----------
    argv : list of str, optional
        Arguments after the program's name; `sys.argv[1:]` by default.

    Returns
    -------
    int
        Exit code.

    Raises
    ------
    GazelabError
        There is no display, or the data folder or gazelab.toml cannot be used.
    """
    given = _arguments().parse_args(argv)
    check_display()
    if given.participant:
        check_participant(given.participant)
    root = find_data_root(given.data)
    settings = _told(load_settings(root), given)
    log_path = start_log(root)
    app = make_application(settings, Theme(given.theme))
    workspace = Workspace(root, settings)
    window = MainWindow(workspace)
    reporter = FaultReporter(window, window.save_now, str(log_path or "-"))
    reporter.install()
    interrupts = Interrupts(window)
    interrupts.install()
    try:
        window.show()
        _fill_in(window, given)
        window.go(PAGES.index(given.page))
        if given.session is not None:
            window.open_session(given.session)
        if given.screenshot_pages is not None:
            tour = Tour(window, given.screenshot_pages, given.session)
            QTimer.singleShot(0, tour.start)
        code = app.exec()
        stuck = not workspace.close()
    finally:
        interrupts.uninstall()
        reporter.uninstall()
    if stuck:
        # Everything is saved; a thread that hangs in a library would keep the process or crash its end.
        logging.shutdown()
        os._exit(code)
    return code


def _told(settings: Settings, given: argparse.Namespace) -> Settings:
    """Put what the arguments say in the place of what gazelab.toml says."""
    told = {k: v for k in ("points", "style", "head_phase") if (v := getattr(given, k)) is not None}
    settings = replace(settings, calibration=replace(settings.calibration, **told))
    if given.detector is not None:
        settings = replace(settings, events=replace(settings.events, detector=given.detector))
    if given.model is not None:
        settings = replace(settings, model=replace(settings.model, name=given.model))
    return settings


def check_display() -> None:
    """Refuse where no window can be opened: Qt itself would abort the process.

    Raises
    ------
    ConfigError
        Linux without a display.
    """
    named = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in named):
        raise ConfigError(
            "there is no display to open a window on.",
            todo="Start it on a desktop, or use what needs no window: `gazelab demo`, `gazelab record"
            " --seconds N`, `gazelab replay SESSION --html FILE`.",
        )


def _fill_in(window: MainWindow, given: argparse.Namespace) -> None:
    """Set on the pages what the arguments say; a named source is started."""
    if given.participant:
        window.setup.participant.setText(given.participant)
        window.workspace.set_participant(given.participant)
    if given.source is not None:
        kind = SourceKind(given.source)
        window.setup.source_form.choose(kind, given.device)
        if given.device or kind in (SourceKind.POINTER, SourceKind.SYNTHETIC):
            window.setup.source_form.start()
    if given.n_charts is not None:
        window.record.set_trials(given.n_charts)
    if given.charts is not None:
        window.record.charts.add(given.charts)


def make_application(settings: Settings, choice: Theme) -> QApplication:
    """Make the application object, or take the one there is, with its looks and language."""
    there = QApplication.instance()
    app = there if isinstance(there, QApplication) else QApplication([sys.argv[0]])
    _alive[:] = [app]
    app.setApplicationName("gazelab")
    app.setWindowIcon(QIcon(app_icon()))
    install_fallback()
    theme.apply(app, choice)
    _translate(app, settings.view.language)
    return app


def start_log(root: Path) -> Path | None:
    """Log into a file in the data root; None where that cannot be written."""
    path = root / LOG_NAME
    try:
        root.mkdir(parents=True, exist_ok=True)
        handler = logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, delay=True)
    except OSError as fault:
        log.warning("no log file: %s", fault)
        return None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"))
    for name in ("gazelab", "py.warnings"):
        logger = logging.getLogger(name)
        for old in [h for h in logger.handlers if isinstance(h, logging.handlers.RotatingFileHandler)]:
            logger.removeHandler(old)
            old.close()
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    logging.captureWarnings(True)
    return path


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("gazelab app", description="Open gazelab's window.")
    parser.add_argument("--data", type=Path, help="folder that holds calibration/ and sessions/")
    parser.add_argument("--session", type=Path, help="show this session on Replay")
    parser.add_argument(
        "--screenshot-pages", type=Path, metavar="DIR", help="write a picture of every page, then quit"
    )
    parser.add_argument("--page", choices=PAGES, default=PAGES[0], help="the page to begin with")
    parser.add_argument("--participant", default="", help="a code of letters and digits, never a name")
    parser.add_argument("--source", choices=[k.value for k in SourceKind], help="where gaze comes from")
    parser.add_argument("--device", default="", help="a camera's number or name, or a video file")
    parser.add_argument("--points", type=int, choices=sorted(LAYOUTS), help="calibration targets")
    parser.add_argument("--style", choices=list(Style), help="targets that stand, or one that moves")
    parser.add_argument("--head-phase", action=argparse.BooleanOptionalAction, help="move the head, too")
    parser.add_argument("--model", help="chartreader, or a folder with a checkpoint")
    parser.add_argument("--detector", choices=list(DETECTORS), help="what finds the fixations on Replay")
    parser.add_argument("--charts", type=Path, metavar="DIR", help="a folder of charts in ChartQA's layout")
    parser.add_argument("--n-charts", type=int, metavar="N", help="how many of them are read")
    parser.add_argument("--theme", choices=[t.value for t in Theme], default=Theme.SYSTEM.value)
    return parser


def _translate(app: QApplication, language: str) -> None:
    """Load Qt's own translations and gazelab's for the language, where there are any."""
    locale = QLocale(language) if language else QLocale.system()
    qt_folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    for name, folder in (("qtbase", qt_folder), ("gazelab", str(TRANSLATIONS))):
        translator = QTranslator(app)
        if translator.load(locale, name, "_", folder):
            app.installTranslator(translator)


def run() -> int:
    """Open the window; a user's mistake gives a sentence and an exit code."""
    try:
        return main()
    except GazelabError as fault:
        sys.stderr.write(f"gazelab: {fault}\n")
        return fault.exit_code


if __name__ == "__main__":
    leave(run())
