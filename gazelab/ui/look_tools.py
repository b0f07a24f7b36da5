"""What can be done with an answer beside looking at it: maps by other methods, the check, a look inside."""

from __future__ import annotations

from collections.abc import Callable

from gazelab.core.errors import GazelabError
from gazelab.ui.causal_panel import CausalPanel
from gazelab.ui.causal_run import CausalRun
from gazelab.ui.errand import Errand
from gazelab.ui.inside import Inside
from gazelab.ui.look_panel import LookPanel
from gazelab.ui.looking import Looking
from gazelab.ui.method_run import MethodRun
from gazelab.ui.side_tabs import SideTabs, scrolled
from gazelab.ui.workspace import Workspace


class LookTools:
    """Joins a page's panel to the model; the check gets a tab of its own.

    Parameters
    ----------
    workspace : Workspace
    looking : Looking
    panel : LookPanel
    side : SideTabs
        Where the check's tab is put, after those that are there.
    failed : callable
        Told of a fault; what is shown stays.
    """

    def __init__(
        self,
        workspace: Workspace,
        looking: Looking,
        panel: LookPanel,
        side: SideTabs,
        failed: Callable[[GazelabError], None],
    ) -> None:
        self.check = CausalPanel()
        self.errand = Errand(workspace, looking)
        self.inside = Inside(workspace, looking, side)
        self._methods = MethodRun(self.errand, looking, panel.controls.method, failed)
        self._causal = CausalRun(self.errand, looking, self.check, failed)
        tab = scrolled(self.check, stretch=0)
        side.addTab(tab, side.tr("Check"))
        panel.check_asked.connect(lambda: side.setCurrentWidget(tab))
        panel.inside_asked.connect(self.inside.open)
