"""A student with one laptop and no camera: `gazelab demo` runs the whole loop and makes a report."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gazelab.sessions.reader import Session

from .program import gazelab

pytestmark = pytest.mark.slow

CHROMIUM_DEADLINE_S = 120.0
N_CHARTS = 4


def numbers(pattern: str, text: str) -> list[float]:
    """The numbers of the one place where a pattern with groups fits."""
    (found,) = re.findall(pattern, text)
    return [float(value) for value in (found if isinstance(found, tuple) else (found,))]


def test_it_ends_well(demo):
    demo.run.worked()
    assert not [line for line in demo.run.said if line.startswith("gazelab: ")]


def test_the_table_tells_accuracy_and_precision(demo):
    accuracy, rms, sd, loss = numbers(
        r"accuracy ([\d.]+) deg, precision RMS-S2S ([\d.]+) deg, SD ([\d.]+) deg, data loss ([\d.]+)%",
        demo.run.out,
    )
    assert 0 < accuracy < 3
    assert 0 < rms < 2
    assert 0 < sd < 2
    assert 0 <= loss < 20


def test_the_fixations_are_found_and_the_blind_floor_is_beside_them(demo):
    (n_known,) = numbers(r"\((\d+) scripted", demo.run.out)
    offline, online, blind = numbers(
        r"offline ([\d.]+), online ([\d.]+); blind floor \(300 ms pieces\) ([\d.]+)", demo.run.out
    )
    assert n_known >= 5 * N_CHARTS
    assert offline >= 0.75
    assert online >= 0.75
    assert blind < offline - 0.1


def test_the_model_answers_and_the_scores_have_baselines(demo):
    answers = re.findall(r"^  gold (.+); participant (.+); model (.+) \((right|wrong)\)$", demo.run.out, re.M)
    assert len(answers) == N_CHARTS
    assert all(model.strip("'\"") for _, _, model, _ in answers)
    assert all(gold == given for gold, given, _, _ in answers)
    assert sum(verdict == "right" for *_, verdict in answers) >= N_CHARTS / 2
    for row in ("model", "centre prior", "uniform", "chance, middle 95 %"):
        assert len(re.findall(rf"^ +{row}  ", demo.run.out, re.M)) == N_CHARTS
    uniform = re.findall(r"^ +uniform +([-\d.]+) +([-\d.]+) ", demo.run.out, re.M)
    assert uniform == [("0.000", "0.000")] * N_CHARTS
    assert "They are no finding about people or models." in demo.run.out


def test_the_session_can_be_read_again(demo):
    session = Session.open(demo.session)
    assert session.report == []
    assert session.header.closed
    assert session.header.calibrated
    [copy] = session.calibrations()
    assert (copy / "validation.png").stat().st_size > 1000
    assert not session.header.for_dataset
    trials = session.trials()
    assert len(trials) == N_CHARTS
    assert all(trial.complete and trial.given for trial in trials)
    gaze = session.gaze()
    assert gaze["valid"].mean() > 0.8
    assert np.isnan(gaze["x_px"][~gaze["valid"]]).all()
    assert not gaze["valid"][gaze["blink"]].any()
    assert len(session.features()) == len(gaze)
    shown = gazelab("sessions", "show", session.path).worked()
    assert shown.count("(gold: ") == N_CHARTS


def test_it_can_be_run_again_beside_the_first(demo):
    """The id of the first is taken: only the name is tried here, the run itself takes a minute."""
    from gazelab.pipeline.demo import free_id

    assert free_id(demo.folder, "demo-1") == "demo-1-2"


# The report, in a browser


@pytest.fixture(scope="module")
def browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("there is no Chromium here to open the report in")


@dataclass(frozen=True)
class Opened:
    """A page after its scripts have run, and what it wrote to the console."""

    dom: str
    console: list[str]


def opened(browser: str, page: Path, profile: Path) -> Opened:
    quiet = ("gpu", "quic", "background-networking", "component-update", "sync")
    flags = ["--headless", "--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in quiet)]
    flags += ["--enable-logging=stderr", "--dump-dom", "--virtual-time-budget=20000"]
    done = subprocess.run(
        [browser, *flags, f"--user-data-dir={profile}", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=CHROMIUM_DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr
    return Opened(done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line])


def trial_buttons(dom: str) -> list[str]:
    (nav,) = re.findall(r'<nav[^>]*id="trials"[^>]*>(.*?)</nav>', dom, re.S)
    return re.findall(r"<button[^>]*>(.*?)</button>", nav, re.S)


def test_the_report_opens_in_a_browser_without_a_complaint(demo, browser, tmp_path):
    seen = opened(browser, demo.report, tmp_path / "profile")
    assert seen.console == []
    trials = Session.open(demo.session).trials()
    assert trial_buttons(seen.dom) == [f"{i + 1}. {trial.chart_id}" for i, trial in enumerate(trials)]
    assert f'<h2 id="question">{trials[0].question}</h2>' in seen.dom
    width, height = trials[0].placement.picture_width_px, trials[0].placement.picture_height_px
    for name in ("person", "model"):
        assert re.search(rf'<canvas id="{name}" width="{width}" height="{height}"', seen.dom)
    assert seen.dom.count("<th>NSS</th>") == 2  # the trial's scores, and the means


WALK = """
<script>
(async () => {
  const rest = () => new Promise(done => setTimeout(done, 50));
  let clicks = 0;
  const click = async node => { node.click(); clicks++; await rest(); };
  for (const trial of [...document.querySelectorAll("#trials button")]) {
    await click(trial);
    for (let k = 0; k < Math.min(3, document.querySelectorAll("#tokens button").length); k++)
      await click(document.querySelectorAll("#tokens button")[k]);
    for (const id of ["layer", "head"]) {
      const list = document.getElementById(id);
      list.selectedIndex = list.options.length - 1;
      list.onchange(); await rest();
    }
    const scrub = document.getElementById("scrub");
    scrub.value = scrub.max / 2; scrub.oninput(); await rest();
    await click(document.getElementById("show-density"));
    await click(document.getElementById("play")); await click(document.getElementById("play"));
    for (const key of ["ArrowLeft", "ArrowRight", " ", " "])
      document.dispatchEvent(new KeyboardEvent("keydown", {key})), await rest();
  }
  document.body.dataset.walked = clicks;
})();
</script>
"""


def test_every_control_of_the_report_works_without_a_complaint(demo, browser, tmp_path):
    walked = tmp_path / "walked.html"
    walked.write_text(demo.report.read_text("utf-8").replace("</body>", f"{WALK}</body>"), "utf-8")
    seen = opened(browser, walked, tmp_path / "profile")
    assert seen.console == []
    (clicks,) = re.findall(r'data-walked="(\d+)"', seen.dom)
    assert int(clicks) >= N_CHARTS * 5


@pytest.mark.parametrize("script", ["console.warn('odd')", "console.error('bad')", "null.length"])
def test_a_complaint_would_be_seen(browser, tmp_path, script):
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><title>x</title><body><script>{script}</script></body>")
    assert opened(browser, page, tmp_path / "profile").console


def test_the_report_asks_nobody_else_for_anything(demo):
    html = demo.report.read_text("utf-8")
    assert not re.findall(r"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:)?//""", html)
    assert not re.findall(r"""url\(\s*["']?(?!data:|#)""", html)
    assert not re.findall(r"\b(?:fetch|XMLHttpRequest|WebSocket|importScripts|sendBeacon)\b", html)
