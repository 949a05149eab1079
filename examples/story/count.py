"""Count a byte-bigram model over a text and write its logits, F32 [256, 256], as a `.npy` file."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from model import count, read_story


def main() -> None:
    """Count the story without its last chapter, or any other text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", type=Path, help="another text than the story")
    parser.add_argument("-o", "--output", type=Path, default=Path("logits.npy"))
    options = parser.parse_args()
    if options.text and not options.text.is_file():
        parser.error(f"{options.text} is not a file")
    text = options.text.read_bytes() if options.text else read_story()[0]
    logits = count(text).logits
    options.output.parent.mkdir(parents=True, exist_ok=True)
    np.save(options.output, logits)
    print(f"counted {len(text)} bytes; wrote {options.output}: F32 {list(logits.shape)}")


if __name__ == "__main__":
    main()
