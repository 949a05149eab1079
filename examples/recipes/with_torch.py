"""Kina's loss as a PyTorch operation with a gradient: `python examples/recipes/with_torch.py`."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

import kina

loss = kina.load(Path(__file__).parent / "loss.kina")


class Nll(torch.autograd.Function):
    """The negative log-likelihood of each row: F32 [B, V] and I64 [B] to F32 [B]."""

    @staticmethod
    def forward(ctx, logits: Tensor, targets: Tensor) -> Tensor:
        ctx.save_for_backward(logits, targets)
        result = torch.empty(len(targets))
        return loss.nll(logits.detach(), targets, out=result)

    @staticmethod
    @once_differentiable
    def backward(ctx, cotangent: Tensor) -> tuple[Tensor, None]:
        logits, targets = ctx.saved_tensors
        slope = torch.empty(logits.shape)
        loss.dnll(logits.detach(), targets, cotangent, out=(None, slope))
        return slope, None


def main() -> None:
    """Compare value and gradient with PyTorch's own."""
    torch.manual_seed(0)
    logits = torch.randn(4, 10, requires_grad=True)
    targets = torch.tensor([0, 9, 3, 3])

    ours = Nll.apply(logits, targets).mean()
    (our_slope,) = torch.autograd.grad(ours, logits)
    theirs = torch.nn.functional.cross_entropy(logits, targets)
    (their_slope,) = torch.autograd.grad(theirs, logits)

    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(our_slope, their_slope)
    print(f"PyTorch: loss {ours.item():.4f}, the gradients agree")


if __name__ == "__main__":
    main()
