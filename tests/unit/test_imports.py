"""Programs in several files: what is visible where, what is exported, where mistakes are shown."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import kina
from kina.backend import cache
from kina.backend.options import Options
from kina.frontend.check import check
from kina.frontend.imports import link
from kina.frontend.source import Source

FILES = {
    "main.kina": """import "layers.kina"
import "lib/loss.kina"
let _scale = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x * 3.0 }
let model = fn(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> { nll(norm(x), t) }
let own = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { _scale(x) }
""",
    "layers.kina": """import "lib/deep/base.kina"
let _scale = fn(x: tensor<F32, [B, V]>) -> tensor<F32, [B, V]> { double(x) }
let norm = fn(x: tensor<F32, [B, V]>) -> tensor<F32, [B, V]> { _scale(x) }
""",
    "lib/loss.kina": """import "deep/base.kina"
let nll = fn(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> {
  -double(x).log_softmax(axis=1).take_along_axis(t, axis=1)
}
""",
    "lib/deep/base.kina": """// The same for all.
let double = fn(x: tensor<F32, [B, V]>) -> tensor<F32, [B, V]> { x + x }
""",
}
F = "let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the files."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_program_in_four_files(folder: Path) -> None:
    module = kina.load("main.kina")
    assert list(module) == ["model", "own"]
    x = np.ones((2, 3), np.float32)
    expected = np.full(2, np.log(3), np.float32)
    np.testing.assert_allclose(module.model(x, np.array([0, 2])), expected, rtol=1e-6)
    assert module.own(np.ones(2, np.float32)).tolist() == [3, 3]
    again = pickle.loads(pickle.dumps(module.model))
    for function in (module.model, module.model.reference, again):
        with pytest.raises(kina.KinaIndexError) as raised:
            function(x, np.array([0, 3]))
        assert str(raised.value).startswith("lib/loss.kina:3:34: error: take_along_axis: index 3")
        assert "log_softmax(axis=1).take_along_axis" in str(raised.value)


def test_the_cache_knows_every_file(folder: Path) -> None:
    def key() -> str:
        *others, (_, own) = link(Source.read("main.kina")).parts
        imported = [(file.name, file.text) for _, file in others]
        return cache.key(own.name, own.text, Options(), imported)

    before = key()
    assert before == key()
    base = folder / "lib/deep/base.kina"
    base.write_text(base.read_text().replace("x + x", "x"))
    assert before != key()


def test_each_file_is_read_once_under_any_of_its_names(folder: Path) -> None:
    (folder / "link.kina").symlink_to("layers.kina")
    (folder / "both.kina").write_text('import "link.kina"\nimport "./layers.kina"\n' + F)
    assert len(link(Source.read("both.kina")).parts) == 3
    assert "norm" in check(Source.read("both.kina")).signatures


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('import "nowhere.kina"\n', "1:8: error: nowhere.kina: cannot read the file: No such"),
        ('import "lib"\n', "1:8: error: lib: cannot read the file: Is a directory"),
        ('import "../x.kina"\n', "1:8: error: ../x.kina is outside of the folder of the program"),
        ('import "/x.kina"\n', "1:8: error: an import is a path relative to this file"),
        ('import ""\n', "1:8: error: an import is a path relative to this file"),
        ('import "me.kina"\n', "1:8: error: the files import each other: me.kina -> me.kina"),
        ('import "you.kina"\n', "the files import each other: me.kina -> you.kina -> me.kina"),
        ("import layers\n", 'expected the path of a file: import "layers.kina", found name'),
        ("import layers.kina\n", 'help: a file is imported by its path, before all else: import "'),
        ("import 'lib/x.kina'\n", '1:8: error: a path stands behind `import`, between two `"`'),
        ("import 'lib/x.kina'\n", 'help: write import "lib/x.kina"'),
        ('import "x.kina\n', 'help: write import "x.kina"'),
        ('import ("x.kina")\n', 'help: write import "x.kina"'),
        ("from layers import norm\n", 'help: a file is imported whole, by its path: import "'),
        ("use layers\n", 'help: a file is imported whole, by its path: import "layers.kina"'),
        ('#include "x.kina"\n', 'help: write import "x.kina"'),
        ('import "layers.kina" as l\n', "help: what is imported keeps its name: import"),
        ('import "layers.kina", "b.kina"\n', "help: an import has one path: write the word again"),
        ('import "layers"\n', 'help: did you mean import "layers.kina"?'),
        ('import "lib/los.kina"\n', 'help: did you mean import "lib/loss.kina"?'),
        (F + 'import "layers.kina"\n', "2:1: error: imports come first in a file"),
        ('import "layers.kina"\nlet norm = fn' + F[10:], "layers.kina:3:5: note: the first one"),
        ('import "layers.kina"\n' + F.replace("{ x", "{ double(x)"), "unknown function `double`"),
        ('import "layers.kina"\n' + F.replace("{ x", "{ _scale(x)"), "unknown function `_scale`"),
        ('import "bad.kina"\n', "bad.kina:1:55: error: b: the body has type tensor<F32, [2]>"),
        ('import "latin.kina"\n', "latin.kina:1:1: error: not UTF-8 text"),
    ],
)
def test_every_mistake_has_its_place(folder: Path, text: str, message: str) -> None:
    bad = "let b = fn(x: tensor<F32, [2]>) -> tensor<F32, [3]> { x }\n"
    (folder / "bad.kina").write_text(bad)
    (folder / "you.kina").write_text('import "me.kina"\n')
    (folder / "latin.kina").write_bytes(b"\xe4")
    (folder / "me.kina").write_text(text if F[:5] in text else text + F)
    with pytest.raises(kina.KinaError) as raised:
        check(Source.read("me.kina"))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("imported", "help_"),
    [
        ("", "write its functions, or leave the import out"),
        ("// Nothing yet.\n", "write its functions, or leave the import out"),
        (F.replace("let f", "let _f"), "names that start with `_` are private to their file"),
        ('import "layers.kina"\n', "what a file imports is not passed on: import it here"),
    ],
)
def test_an_import_of_nothing_is_warned_of(folder: Path, imported: str, help_: str) -> None:
    (folder / "none.kina").write_text(imported)
    (folder / "me.kina").write_text('import "layers.kina"\nimport "none.kina"\n' + F)
    (warning,) = check(Source.read("me.kina")).warnings
    said = warning.render()
    assert said.startswith("me.kina:2:8: warning: none.kina has no public function and no public")
    assert said.endswith(f"help: {help_}")


def test_all_bad_imports_show_at_once(folder: Path) -> None:
    """Each at its own import, those of imported files among them."""
    (folder / "latin.kina").write_bytes(b"\xe4")
    (folder / "lib/bad.kina").write_text('import "deep/gone.kina"\nimport "bad.kina"\n' + F)
    lines = ("nowhere.kina", "lib/bad.kina", "/x.kina", "latin.kina", "layers.kina", "lib")
    (folder / "me.kina").write_text("".join(f'import "{line}"\n' for line in lines) + F)
    with pytest.raises(kina.KinaSyntaxError) as raised:
        check(Source.read("me.kina"))
    assert [str(problem.span) for problem in raised.value.diagnostics] == [
        "me.kina:1:8",
        "lib/bad.kina:1:8",
        "lib/bad.kina:2:8",
        "me.kina:3:8",
        "latin.kina:1:1",
        "me.kina:6:8",
    ]
    (folder / "me.kina").write_text('import "nowhere.kina"\n' * 60 + F)
    with pytest.raises(kina.KinaSyntaxError, match=r"me\.kina: and 10 more errors$"):
        check(Source.read("me.kina"))


def test_a_symbolic_link_out_of_the_folder_is_outside(folder: Path) -> None:
    inner = folder / "lib"
    (inner / "up.kina").symlink_to("../layers.kina")
    (inner / "me.kina").write_text('import "up.kina"\n' + F)
    with pytest.raises(kina.KinaSyntaxError, match=r"up\.kina is outside of the folder"):
        check(Source.read(os.path.join("lib", "me.kina")))


def test_what_is_no_file_is_not_read(folder: Path) -> None:
    """A link to itself, and a pipe that nobody writes to."""
    (folder / "loop.kina").symlink_to("loop.kina")
    os.mkfifo(folder / "pipe.kina")
    main = folder / "odd.kina"
    for name, message in (("loop", "symbolic links lead in a circle"), ("pipe", "regular file")):
        main.write_text(f'import "{name}.kina"\n{F}')
        with pytest.raises(kina.KinaSyntaxError, match=message):
            check(Source.read(main))


def test_text_has_no_folder() -> None:
    with pytest.raises(kina.KinaSyntaxError, match=r"use kina\.load\(path\)"):
        kina.compile('import "layers.kina"\n' + F)
    assert "import" in check(Source("a", F.replace("f", "import", 1).replace("x", "f"))).signatures


def test_long_chains(tmp_path: Path) -> None:
    for number in range(120):
        text = f'import "f{number + 1}.kina"\n' if number < 119 else ""
        (tmp_path / f"f{number}.kina").write_text(text + F.replace("let f", f"let f{number}"))
    assert len(check(Source.read(tmp_path / "f20.kina")).signatures) == 100
    with pytest.raises(kina.KinaSyntaxError, match="a chain of imports is longer than 100 files"):
        check(Source.read(tmp_path / "f0.kina"))


def test_records_of_an_imported_file(tmp_path: Path) -> None:
    """Public ones are visible; a private one of the same name is another one."""
    (tmp_path / "layers.kina").write_text(
        "type _Pair = { w: tensor<F32, [D]> }\n"
        "type Layer = { inner: _Pair, b: tensor<F32, [D]> }\n"
        "let apply = fn(p: Layer, x: tensor<F32, [D]>) -> Layer {\n"
        "  Layer(inner=_Pair(w=p.inner.w * x), b=p.b)\n}\n"
    )
    (tmp_path / "main.kina").write_text(
        'import "layers.kina"\n'
        "type _Pair = { layer: Layer }\n"
        "let f = fn(p: _Pair, x: tensor<F32, [D]>) -> Layer { p.layer.apply(x) }\n"
    )
    module = kina.load(tmp_path / "main.kina")
    one, two = np.ones(3, np.float32), np.full(3, 2, np.float32)
    result = module.f({"layer": {"inner": {"w": two}, "b": one}}, two)
    np.testing.assert_array_equal(result.inner.w, 2 * two)
    np.testing.assert_array_equal(result.b, one)
