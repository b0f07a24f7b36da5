import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import tiny_checkpoints
import tiny_families
import tiny_models as tiny
import torch

from gazelab.attention import memory_free
from gazelab.attention.base import open_model
from gazelab.attention.generation import generate_answer
from gazelab.attention.memory import MemoryEstimate, estimate, free_bytes, is_out_of_memory, told
from gazelab.attention.memory_free import free_host_bytes, pages_of_vm_stat
from gazelab.attention.tap import AttentionTap
from gazelab.core.errors import AttentionError

linux = pytest.mark.skipif(sys.platform != "linux", reason="the limit on a process's memory is Linux's")


@contextmanager
def at_most(n_bytes: int):
    """Let this process take so many bytes more: what is beyond fails for real."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@linux
def test_memory_that_runs_out_is_told_and_the_model_answers_afterwards():
    model, tokenizer = tiny.llama(max_position_embeddings=9000), tiny_checkpoints.tokenizer()
    model.set_attn_implementation("eager")
    long, short = tiny.prompt(8000), tiny.prompt(9)  # 4 heads of 8000² in float32 are 1 GB
    with (
        at_most(400_000_000),
        AttentionTap(model, layers=[0], method="eager") as tap,
        pytest.raises(AttentionError, match=r"memory ran out on cpu .* smaller picture") as caught,
    ):
        generate_answer(model, tokenizer, {"input_ids": long}, 2)
    assert "Traceback" not in str(caught.value)
    assert tap.captured == []
    assert not any(module._forward_hooks for module in model.modules())
    assert len(generate_answer(model, tokenizer, {"input_ids": short}, 2)) > 0


@pytest.mark.parametrize(
    "fault",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("MPS backend out of memory (MPS allocated: 17.00 GB)."),
        RuntimeError("[enforce fail at alloc_cpu.cpp:75] DefaultCPUAllocator: not enough memory"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ],
)
def test_each_devices_words_for_it_are_known(fault):
    assert is_out_of_memory(fault)
    with pytest.raises(AttentionError, match="LlamaForCausalLM: memory ran out"), told(tiny.llama()):
        raise fault


def test_another_fault_stays_what_it_is():
    with pytest.raises(RuntimeError, match="size mismatch"), told(tiny.llama()):
        raise RuntimeError("size mismatch")


def test_an_estimate_by_hand():
    model = tiny.llama()  # 3 layers, 4 heads, 2 key heads of 8, width 32, inner 48, float32, vocabulary 99
    found = estimate(model, 1000, 24)
    assert found.weights_bytes == 4 * sum(p.numel() for p in model.parameters())
    assert found.cache_bytes == 3 * 2 * (2 * 8) * 4 * 1024
    assert found.trace_bytes == 3 * 4 * 1024 * 24 * 2
    assert found.tap_bytes == 3 * 4 * 1024 * 4 * 3
    assert found.activations_bytes == 2 * (1000 * (4 * 32 + 4 * 48) * 4 + 99 * 8)
    assert found.eager_bytes == 4 * 1000**2 * (3 * 4 + 8)
    assert found.needed_bytes < found.eager_bytes


def test_a_model_that_cannot_be_tapped_needs_a_layers_matrix():
    found = estimate(tiny.gemma2(), 1000, 24)
    assert found.tap_bytes == 4 * 1000**2 * (4 + 8)


@pytest.mark.parametrize("family", sorted(tiny_families.FOLDERS))
def test_every_family_is_estimated_and_its_picture_counts(family, tmp_path):
    model = open_model(str(tiny_families.FOLDERS[family](tmp_path))).checkpoint.model
    found = estimate(model, 1000, 10, n_patches=100)
    more = estimate(model, 1000, 10, n_patches=10_000_000)
    assert min(found.cache_bytes, found.activations_bytes, found.tap_bytes, found.trace_bytes) > 0
    assert more.activations_bytes > found.activations_bytes
    assert "free on cpu" in found.text()


def test_no_room_is_said_before_the_run():
    found = MemoryEstimate("cpu", 300_000_000, 10**8, 2 * 10**9, 10**8, 10**8, 5 * 10**10, 10**9)
    assert not found.fits
    assert found.text() == (
        "needs about 2.3 GB of 1 GB free on cpu (picture and prompt 2 GB, cache 0.1 GB, attention 0.2 GB);"
        " the weights hold 0.3 GB, and the library's own attentions would add 50 GB."
    )
    with pytest.raises(AttentionError, match=r"tiny: no room: it needs about 2.3 GB.*smaller picture"):
        found.refuse_if_too_large("tiny")


@linux
def test_a_limit_on_the_process_is_what_is_free():
    free = free_bytes("cpu")
    assert free is not None
    with at_most(200_000_000):
        assert 100_000_000 < free_host_bytes() <= 200_000_000
    assert free_host_bytes() > 200_000_000


@pytest.mark.parametrize("older", [False, True])
def test_a_containers_limit_counts(tmp_path, monkeypatch, older):
    limit, usage, stat = (
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat")
        if older
        else ("memory.max", "memory.current", "memory.stat")
    )
    (tmp_path / "memory").mkdir()
    (tmp_path / limit).write_text("5000000\n")
    (tmp_path / usage).write_text("4000000\n")
    cached = "total_inactive_file" if older else "inactive_file"
    (tmp_path / stat).write_text(f"anon 3000000\n{cached} 1000000\n")
    monkeypatch.setattr(memory_free, "CGROUP", tmp_path)
    assert free_host_bytes() == 2_000_000
    (tmp_path / limit).write_text("max\n")
    assert free_host_bytes() != 2_000_000


def test_macos_counts_what_can_be_had_at_once():
    told_by_system = (
        "Mach Virtual Memory Statistics: (page size of 16384 bytes)\n"
        "Pages free:                               10.\n"
        "Pages active:                            500.\n"
        "Pages inactive:                           20.\n"
        "Pages speculative:                         5.\n"
    )
    assert pages_of_vm_stat(told_by_system) == 35 * 16384
