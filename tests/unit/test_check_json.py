"""`kina check --json`: the schema that other programs rely on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kina.cli.main import main


def report(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[object, Any]:
    with pytest.raises(SystemExit) as leaving:
        main(["check", "--json", *map(str, words)])
    output = capsys.readouterr()
    assert not output.err
    return leaving.value.code, json.loads(output.out)


def test_right_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ü.kina"
    path.write_text(
        "let _g = fn(x: tensor<BF16, [2]>) -> tensor<BF16, [2]> { x * 0.999 }\n"
        "let f = fn(x: tensor<BF16, [2]>) -> tensor<BF16, [2]> { _g(x) }\n"
    )
    status, found = report(capsys, path)
    assert status == 0
    type_ = "(x: tensor<BF16, [2]>) -> tensor<BF16, [2]>"
    warning = {
        "severity": "warning", "message": "0.999 becomes 1 in BF16", "file": str(path), "line": 1,
        "column": 62, "length": 5,
        "notes": [{"kind": "help",
                   "message": "write 1 if that is meant; or compute in F32: .cast(F32)"}],
    }  # fmt: skip
    assert found == {"schema": 1, "files": [{
        "file": str(path), "ok": True, "diagnostics": [warning],
        "functions": [{"name": "_g", "type": f"_g{type_}", "private": True},
                      {"name": "f", "type": f"f{type_}", "private": False}],
    }]}  # fmt: skip
    status, found = report(capsys, path, "-W", "error")
    assert status == 1
    assert [each["severity"] for each in found["files"][0]["diagnostics"]] == ["error"]
    _, found = report(capsys, path, "-W", "ignore")
    assert found["files"][0]["diagnostics"] == []


def test_wrong_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.kina"
    path.write_text("let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [3]> { x }")
    status, found = report(capsys, path, tmp_path / "none.kina")
    assert status == 1
    wrong, missing = found["files"]
    (error,) = wrong["diagnostics"]
    assert (error["line"], error["column"], error["length"]) == (1, 55, 1)
    assert error["message"] == "f: the body has type tensor<F32, [2]>, expected tensor<F32, [3]>"
    (note,) = error["notes"]
    assert (note["kind"], note["column"]) == ("note", 36)
    assert wrong["functions"] == missing["functions"] == []
    (error,) = missing["diagnostics"]
    assert "cannot read the file" in error["message"]
    assert "line" not in error
