"""A full-screen window that shows one step after another; keys count only once a step has been drawn."""

from __future__ import annotations

from PyQt6.QtCore import QEvent, Qt, QTimer
from PyQt6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QScreen

from gazelab.ui.colours import NEUTRAL_RGB
from gazelab.ui.monitor_window import MonitorWindow


class StepWindow(MonitorWindow):
    """Draws, stamps the moment of showing, and lets fresh keys through.

    Parameters
    ----------
    monitor : QScreen
    title : str
    """

    def __init__(self, monitor: QScreen, title: str) -> None:
        super().__init__(monitor, title)
        self._step = 0
        self._armed = False
        self._key_down = False
        self._focused = True

    def draw_step(self, painter: QPainter) -> None:
        """Draw the step that is on; the ground is there already."""
        raise NotImplementedError

    def step_is_on(self) -> None:
        """Be told that the step has been drawn, as near to the swap as we get."""
        raise NotImplementedError

    def fresh_key(self, key: int) -> None:
        """Take a key that was pressed on this step, and is not held since an earlier one."""
        raise NotImplementedError

    def escape(self) -> None:
        """Take the Esc key, whenever it comes."""
        raise NotImplementedError

    def focus_is(self, active: bool) -> None:
        """Be told that another window took the keyboard, or that it came back."""
        raise NotImplementedError

    def begin_step(self) -> None:
        """Show another step: nothing pressed before it has been drawn counts."""
        self._step += 1
        self._armed = False
        self.raise_()
        self.activateWindow()
        self.update()

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Let fresh keys through; a held key repeats nothing."""
        if a0 is None or a0.isAutoRepeat():
            return
        key, fresh = a0.key(), self._armed and not self._key_down
        self._key_down |= key == Qt.Key.Key_Space
        if key == Qt.Key.Key_Escape:
            self.escape()
        elif fresh:
            self.fresh_key(key)

    def keyReleaseEvent(self, a0: QKeyEvent | None) -> None:
        """See the space bar come up again."""
        if a0 is not None and a0.key() == Qt.Key.Key_Space and not a0.isAutoRepeat():
            self._key_down = False

    def changeEvent(self, a0: QEvent | None) -> None:
        """Forget held keys when another window takes the keyboard."""
        changed = a0 is not None and a0.type() == QEvent.Type.ActivationChange
        if changed and self._watched and self.isActiveWindow() != self._focused:
            self._focused = not self._focused
            self._key_down = False
            self.focus_is(self._focused)
        super().changeEvent(a0)

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the ground and the step that is on."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(*NEUTRAL_RGB))
        self.draw_step(painter)
        if not self._armed:
            # Runs once the pixels above have gone to the window system: the nearest we get to the swap.
            step = self._step
            QTimer.singleShot(0, lambda: self._now_on_screen(step))

    def _now_on_screen(self, step: int) -> None:
        """Take note that a step is on; an earlier one's paint event does not count for a later one."""
        if not self._armed and step == self._step and self._watched:
            self._armed = True
            self.step_is_on()
