"""Put the page together: `python examples/web/build.py`, then serve the folder as static files.

python -m http.server --directory build/web
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PROGRAM = HERE.parent / "storylm0" / "page.kina"
STATIC = ("index.html", "page.mjs", "writer.mjs", "weights.safetensors")
SENT = (*STATIC, "story.wasm", "story.mjs")
"""What a browser fetches."""


def main() -> None:
    """Compile the model, and lay what belongs to the page beside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("build/web"))
    output: Path = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "kina.cli.main", "build", PROGRAM, "--target", "wasm32"]
    done = subprocess.run([*command, "-o", output / "story.wasm"], check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    for name in STATIC:
        shutil.copy(HERE / name, output)
    total = sum((output / name).stat().st_size for name in SENT)
    print(f"the page is in {output}: {total} bytes, with the weights")


if __name__ == "__main__":
    main()
