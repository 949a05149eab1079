"""What `make demo` runs: the examples, called as a user would call them, with what they print.

A second run prints the same. Commands run in the project's folder, and `build/story/` holds what
they write. Stops with exit status 1 at the first command that fails.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PARTS: dict[str, tuple[str, ...]] = {
    "The three StoryLM-0 programs from Python": ("examples/storylm0.py",),
    "The same programs as C libraries, on many more inputs": (
        "tools/validate_nll.py",
        "tools/validate_argmax.py",
        "tools/validate_sample.py",
    ),
    "An index out of range is an error, not a wrong number": ("examples/bad_index.py",),
    "A byte-bigram model counted over a story": (
        "examples/story/count.py -o build/story/logits.npy",
        "examples/story/tell.py --logits build/story/logits.npy",
    ),
    "The same programs with contexts of up to three bytes": ("examples/story/tell.py --context 3",),
}
"""What each part shows, and the Python scripts that show it."""


def run(command: str) -> None:
    """Show a command and run it with this Python; exits if it fails."""
    print(f"$ python {command}", flush=True)
    done = subprocess.run([sys.executable, *command.split()], cwd=ROOT, check=False)
    if done.returncode != 0:
        sys.exit(f"{command} failed with exit status {done.returncode}")


def main() -> None:
    """Run every part."""
    for title, commands in PARTS.items():
        print(f"\n== {title} ==")
        for command in commands:
            run(command)


if __name__ == "__main__":
    main()
