import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gazelab.attention.row_weights import HIDDEN, row_scores, row_weights


def reference(query, key, rows, scaling, seen):
    """softmax(q Kᵀ) in float64, key heads repeated, one head at a time."""
    of_key = query.shape[1] // key.shape[1]
    out = []
    for head in range(query.shape[1]):
        scores = query[0, head, rows].double() @ key[0, head // of_key].double().T * scaling
        out.append(scores.masked_fill(~seen, float("-inf")).softmax(-1))
    return torch.stack(out)


@settings(deadline=None, max_examples=25)
@given(
    key_heads=st.integers(1, 3),
    shared=st.integers(1, 3),
    n=st.integers(1, 9),
    rows=st.sets(st.integers(0, 8), min_size=1),
    dtype=st.sampled_from([torch.float32, torch.bfloat16, torch.float16]),
)
def test_weights_are_those_of_float64_for_grouped_heads_and_any_rows(key_heads, shared, n, rows, dtype):
    torch.manual_seed(n)
    rows = sorted({row % n for row in rows})
    query = torch.randn(1, key_heads * shared, n, 4).to(dtype)
    key = torch.randn(1, key_heads, n, 4).to(dtype)
    found = row_weights(query, key, None, rows, scaling=0.7, causal=True)
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool))[rows]
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found, reference(query, key, rows, 0.7, seen), atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_V4_scores_of_half_precision_models_are_summed_in_float32(dtype):
    torch.manual_seed(0)
    query, key = 3 * torch.randn(1, 2, 1, 64), 3 * torch.randn(1, 2, 50, 64)
    query, key = query.to(dtype), key.to(dtype)
    seen = torch.ones(1, 50, dtype=torch.bool)
    exact = reference(query, key, [0], 0.125, seen).numpy()
    found = row_weights(query, key, None, [0], scaling=0.125, causal=True)
    np.testing.assert_allclose(found, exact, atol=1e-5)
    halves = (query @ key.transpose(2, 3) * 0.125)[0].float().softmax(-1)
    assert np.abs(halves.numpy() - exact).max() > 1e-4


def test_V4_what_overflows_float16_stays_finite():
    query = key = torch.full((1, 1, 1, 64), 100.0, dtype=torch.float16)  # q·k = 640,000
    assert not torch.isfinite(query @ key.transpose(2, 3)).all()
    assert row_scores(query, key, None, [0], scaling=0.125, causal=True).item() == 80_000


@pytest.mark.parametrize("additive", [False, True])
def test_masked_keys_hold_exactly_nothing(additive):
    query, key = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4)
    mask = torch.tensor([[1, 0, 1, 1, 0]] * 3, dtype=torch.bool)[None, None]
    given_mask = torch.zeros(mask.shape).masked_fill(~mask, float("-inf")) if additive else mask
    weights = row_weights(query, key, given_mask, [0, 2], scaling=None, causal=True)
    assert weights.shape == (2, 2, 5)
    assert torch.all(weights[..., [1, 4]] == 0)
    np.testing.assert_allclose(weights, reference(query, key, [0, 2], 0.5, mask[0, 0, [0, 2]]), atol=1e-6)
    scores = row_scores(query, key, given_mask, [0], scaling=None, causal=True)
    assert torch.all(scores[..., [1, 4]] < HIDDEN)
