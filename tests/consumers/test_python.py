"""Real users of a compiled function: PyTorch, dask, process pools, and DLPack itself."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kina

PROGRAM = """\
let nll = fn(logits: tensor<F32, [B, V]>, targets: tensor<I64, [B]>) -> tensor<F32, [B]> {
  -logits.log_softmax(axis=1).take_along_axis(targets, axis=1)
}
let logp = fn(logits: tensor<F32, [B, V]>) -> tensor<F32, [B, V]> { logits.log_softmax(axis=1) }
let small = fn(x: tensor<BF16, [N]>) -> tensor<BF16, [N]> { -x }
"""


@pytest.fixture(scope="module")
def module() -> Any:
    return kina.compile(PROGRAM)


class Foreign:
    """An array of another library, which shares its memory by DLPack alone."""

    def __init__(
        self, array: np.ndarray, device: int = 1, problem: Exception | None = None
    ) -> None:
        self._array = array
        self._device = device
        self._problem = problem

    def __dlpack__(self, **options: Any) -> Any:
        if self._problem is not None:
            raise self._problem
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device, 0


class Described:
    """An array of another library, which describes its memory."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.__array_interface__ = array.__array_interface__


@pytest.mark.parametrize("wrap", [Foreign, Described])
def test_foreign_arrays(module: Any, wrap: type) -> None:
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    t = np.array([0, 4, 2])
    np.testing.assert_array_equal(module.nll(wrap(x), wrap(t)), module.nll(x, t))


@pytest.mark.parametrize("wrap", [Foreign, Described])
def test_foreign_memory_is_shared(module: Any, wrap: type) -> None:
    """As an output, too, and what overlaps is seen."""
    memory = np.zeros((4, 5), np.float32)
    out = wrap(memory[2:])
    assert module.logp(memory[:2], out=out) is out
    np.testing.assert_allclose(memory[2:], -np.log(5), rtol=1e-6)
    with pytest.raises(kina.KinaValueError, match="out overlaps parameter 'logits'"):
        module.logp(memory[1:3], out=wrap(memory[2:]))


def test_foreign_errors(module: Any) -> None:
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(kina.KinaValueError, match="not in the memory of the CPU"):
        module.logp(Foreign(x, device=2))
    with pytest.raises(kina.KinaValueError, match=r"pass x.detach\(\)"):
        module.logp(Foreign(x, problem=BufferError("it requires grad")))
    with pytest.raises(kina.KinaTypeError, match="got float64"):
        module.logp(Foreign(x.astype(np.float64)))


def test_torch(module: Any, torch: ModuleType) -> None:
    x = torch.randn(3, 5)
    t = torch.tensor([0, 4, 2])
    wanted = torch.nn.functional.cross_entropy(x, t, reduction="none")
    np.testing.assert_allclose(module.nll(x, t), wanted, rtol=1e-6)
    np.testing.assert_allclose(module.nll(x.T.contiguous().T, t), wanted, rtol=1e-6)
    with pytest.raises(kina.KinaValueError, match=r"pass x.detach\(\)"):
        module.logp(x.requires_grad_())
    out = torch.empty(3)
    assert module.nll(x.detach(), t, out=out) is out
    np.testing.assert_allclose(out, wanted.detach(), rtol=1e-6)


def test_torch_negative_bit(module: Any, torch: ModuleType) -> None:
    """DLPack would share the memory, which holds the other sign."""
    x = torch.complex(torch.randn(3, 5), torch.randn(3, 5)).conj().imag
    assert x.is_neg()
    np.testing.assert_array_equal(module.logp(x), module.logp(x.resolve_neg()))
    np.testing.assert_array_equal(module.logp.reference(x), module.logp.reference(x.resolve_neg()))
    with pytest.raises(kina.KinaValueError, match=r"pass x\.resolve_neg\(\)"):
        module.logp(torch.zeros(3, 5), out=x)


def odd_tensors(torch: Any) -> dict[str, tuple[Any, str]]:
    """[2, 2] tensors that are not plain memory, and the advice for each."""
    x = torch.eye(2)
    freed = torch.eye(2)
    freed.untyped_storage().resize_(0)
    return {
        "meta": (torch.empty(2, 2, device="meta"), "make one on the CPU"),
        "gradient": (torch.eye(2, requires_grad=True), r"pass x\.detach\(\)"),
        "parameter": (torch.nn.Parameter(torch.eye(2)), r"pass x\.detach\(\)"),
        "conjugate": (torch.complex(x, x).conj(), r"pass x\.resolve_conj\(\)"),
        "sparse": (x.to_sparse(), r"pass x\.to_dense\(\)"),
        "sparse rows": (x.to_sparse_csr(), r"pass x\.to_dense\(\)"),
        "mkldnn": (x.to_mkldnn(), r"pass x\.to_dense\(\)"),
        "quantised": (torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), r"pass x\.dequantize\(\)"),
        "nested": (torch.nested.nested_tensor([x[0], x[0, :1]]), "pad it"),
        "zero tensor": (torch._efficientzerotensor(2, 2), "has no memory"),
        "freed": (freed, "has no memory"),
    }


@pytest.mark.filterwarnings("ignore")
def test_odd_torch_tensors(module: Any, torch: ModuleType) -> None:
    for tensor, advice in odd_tensors(torch).values():
        with pytest.raises(kina.KinaValueError, match=advice):
            module.logp(tensor)
        with pytest.raises(kina.KinaValueError, match=advice):
            module.logp(np.zeros((2, 2), np.float32), out=tensor)


def test_usual_torch_tensors(module: Any, torch: ModuleType) -> None:
    class Named(torch.Tensor):
        """A subclass with the memory of a tensor."""

    x = torch.randn(3, 5)
    wanted = module.logp(x.numpy())
    inference = torch.inference_mode()(x.clone)()
    for tensor in (x.as_subclass(Named), inference, x.T.contiguous().T, x.flip(0).flip(0)):
        np.testing.assert_array_equal(module.logp(tensor), wanted)
    expanded = x[:1].expand(3, 5)
    np.testing.assert_array_equal(module.logp(expanded), np.repeat(wanted[:1], 3, axis=0))


def test_torch_bfloat16(module: Any, torch: ModuleType) -> None:
    x = torch.tensor([1.0, -2.0], dtype=torch.bfloat16)
    with pytest.raises(kina.KinaValueError, match=r"ml_dtypes\.bfloat16"):
        module.small(x)
    result = module.small(x.view(torch.int16).numpy().view(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(result.astype(np.float32), [-1, 2])


def test_dask(module: Any) -> None:
    array = pytest.importorskip("dask.array", reason="dask is not installed here")
    x = np.random.default_rng(0).standard_normal((64, 10)).astype(np.float32)
    blocks = array.from_array(x, chunks=(16, 10)).map_blocks(module.logp, dtype=np.float32)
    wanted = module.logp(x)
    for scheduler in ("synchronous", "threads"):
        np.testing.assert_array_equal(blocks.compute(scheduler=scheduler), wanted)


def test_process_pool(module: Any) -> None:
    """Functions travel to fresh processes, which find the cache."""
    x = np.random.default_rng(0).standard_normal((8, 10)).astype(np.float32)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        results = list(pool.map(module.logp, np.split(x, 4)))
    np.testing.assert_array_equal(np.concatenate(results), module.logp(x))
