"""Values on which three independent implementations agree; the data are for development and may be absent."""

import json
import math

import numpy as np
import pytest

from gazelab.metrics import saliency as sal
from gazelab.metrics.density import fixation_density

MAPS = (
    "two_blobs",
    "centre_bias",
    "offset_positive",
    "constant",
    "token6x8_nearest",
    "token6x8_bilinear",
    "ramp",
)


@pytest.fixture(scope="module")
def golden(shared_data):
    folder = shared_data / "golden"
    with np.load(folder / "maps.npz", allow_pickle=False) as z:
        return json.loads((folder / "golden.json").read_text()), {k: z[k] for k in z.files}


@pytest.mark.parametrize(
    ("name", "points"),
    [(m, p) for m in MAPS for p in ("A", "B_dup") if (m, p) != ("token6x8_bilinear", "B_dup")],
)
@pytest.mark.filterwarnings("ignore::gazelab.metrics.saliency.UndefinedScore")
def test_scores_equal_the_golden_values(golden, name, points):
    meta, arrays = golden
    expect = meta["values"][f"{name}|{points}"]
    values, density = arrays[f"map_{name}"], arrays[f"dens_{points}"]
    fixations, others = meta["meta"]["fixations"][points], meta["meta"]["other_fixations"]
    found = {
        "NSS_ddof0": sal.nss(values, fixations),
        "AUC_uniform_exact": sal.auc(values, fixations, "uniform"),
        "AUC_unfixated_exact": sal.auc(values, fixations, "unfixated"),
        "AUC_Judd_MIT_nojitter": sal.auc_judd(values, fixations),
        "sAUC_exact": sal.shuffled_auc(values, fixations, others),
        "CC": sal.cc(values, density),
        "SIM_sumnorm": sal.sim(values, density),
        "KL_MIT": sal.kld(values, density),
        "IG_vs_centre_bits": sal.information_gain(values, fixations, arrays["map_centre_bias"]),
        "EMD_px_block8": sal.emd(values, density, 8),
    }
    for key, value in found.items():
        wanted = math.nan if expect[key] is None else expect[key]
        assert value == pytest.approx(wanted, abs=1e-6, nan_ok=True), key


@pytest.mark.parametrize("points", ["A", "B_dup", "C_corner"])
def test_density_equals_the_golden_density(golden, points):
    meta, arrays = golden
    x, y = np.array(meta["meta"]["fixations"][points]).T
    expect = arrays[f"dens_{points}"]
    found = fixation_density(x, y, None, expect.shape, 4.0)
    np.testing.assert_allclose(found, expect / expect.sum(), atol=1e-12)
