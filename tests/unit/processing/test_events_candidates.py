from hypothesis import given
from hypothesis import strategies as st

from gazelab.processing import events_segmentation
from gazelab.processing.events_candidates import FewCandidates, ManyCandidates
from gazelab.processing.events_noise import Noise
from gazelab.processing.events_segmentation import Segmentation

PLACES = st.lists(st.tuples(st.floats(-20, 20), st.floats(-12, 12)), min_size=1, max_size=60)


@given(PLACES)
def test_arrays_and_plain_floats_give_the_same_cut(places):
    def cut():
        found = Segmentation(Noise(0.5, 0.3), 1 / 30)
        for k, (x, y) in enumerate(places):
            found.push(k / 30, x, y)
        return found.pieces(ended=True), found._fixated, found._open

    with_few = events_segmentation.FEW
    try:
        events_segmentation.FEW = 1
        arrays = cut()
        events_segmentation.FEW = 1000
        floats = cut()
    finally:
        events_segmentation.FEW = with_few
    assert arrays == floats


def test_two_candidates_by_hand():
    """One sample at (3, 4) of weight 1 beside a fixation cost of 5: alone in its fixation it costs 5."""
    few = FewCandidates()
    few.add(0, 5.0, (1.0, 3.0, 4.0, 25.0), 0.0)
    assert few.weigh((0.0, 0.0, 0.0, 0.0)) == (5.0, 0)
    assert ManyCandidates(few).weigh((0.0, 0.0, 0.0, 0.0)) == (5.0, 0)
    few.add(1, 2.0, (1.0, 0.0, 0.0, 0.0), 0.1)
    assert few.weigh((0.0, 0.0, 0.0, 0.0)) == (2.0, 1)
    assert few.best_until(0.05, 1) == (5.0, 0)
    assert few.best_until(0.2, 0) == (5.0, 0)
    assert few.best_until(-1.0, 0)[1] == -1
