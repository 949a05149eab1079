"""The server itself: the protocol's requests, answered by `features`.

Over standard input and output, by pygls. Only the open file's unsaved text is known; what it
imports is read from the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import ServerTextPosition, TextDocument

import kina
from kina.errors import Diagnostic, KinaError, Severity, Span
from kina.frontend.formatting.program import format_program
from kina.frontend.source import Extent, Source
from kina.lsp import features
from kina.lsp.analysis import Analysis, analyse
from kina.lsp.names import Definition, Kind
from kina.types import is_private

SERVER = LanguageServer("kina", kina.__version__)
_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
}
_ITEMS = {
    Kind.FUNCTION: lsp.CompletionItemKind.Function,
    Kind.RECORD: lsp.CompletionItemKind.Struct,
    Kind.FIELD: lsp.CompletionItemKind.Field,
    Kind.PARAMETER: lsp.CompletionItemKind.Variable,
    Kind.VARIABLE: lsp.CompletionItemKind.Variable,
    Kind.DIMENSION: lsp.CompletionItemKind.TypeParameter,
    Kind.OPERATION: lsp.CompletionItemKind.Keyword,
}
_PLACEHOLDER = "kina_x"
"""Stands where a name is about to be written, so that the rest can be understood."""
_analyses: dict[str, tuple[int | None, Analysis]] = {}
"""Of each open file, the version that was analysed last."""
_good: dict[str, Analysis] = {}
"""Of each open file, the last one that could be parsed."""


def _source(document: TextDocument, text: str | None = None) -> Source:
    path = to_fs_path(document.uri) if document.uri.startswith("file:") else None
    source = Source(path or document.uri, document.source if text is None else text)
    source.path = Path(path) if path else None
    return source


def _analysis(document: TextDocument) -> Analysis:
    known = _analyses.get(document.uri)
    if known is not None and known[0] == document.version:
        return known[1]
    analysis = analyse(_source(document))
    _analyses[document.uri] = document.version, analysis
    if analysis.parsed or document.uri not in _good:
        _good[document.uri] = analysis
    return analysis


def _document(uri: str) -> TextDocument:
    return SERVER.workspace.get_text_document(uri)


def _range(document: TextDocument, extent: Extent) -> lsp.Range:
    start, end = (document.client_position_at_offset(offset) for offset in extent)
    return lsp.Range(start, end)


# -- Diagnostics.


@SERVER.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
    """Report the errors of a file."""
    _publish(params.text_document.uri)


@SERVER.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
    """Report the errors of the file as it is now."""
    _publish(params.text_document.uri)


@SERVER.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
def did_save(_params: lsp.DidSaveTextDocumentParams) -> None:
    """Report the errors of every open file: others may import the one that was saved."""
    _analyses.clear()
    for uri in list(SERVER.workspace.text_documents):
        _publish(uri)


@SERVER.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
    """Forget a file."""
    uri = params.text_document.uri
    _analyses.pop(uri, None)
    _good.pop(uri, None)
    SERVER.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def _publish(uri: str) -> None:
    document = _document(uri)
    found = [_diagnostic(document, each) for each in _analysis(document).diagnostics]
    params = lsp.PublishDiagnosticsParams(uri, found, document.version)
    SERVER.text_document_publish_diagnostics(params)


def _diagnostic(document: TextDocument, found: Diagnostic) -> lsp.Diagnostic:
    own = found.span is not None and found.span.file == _source(document).name
    message = found.message if own or found.span is None else f"{found.span}: {found.message}"
    helps = [note.message for note in found.notes if note.span is None]
    related = [
        lsp.DiagnosticRelatedInformation(_location(note.span), note.message)
        for note in found.notes
        if note.span is not None
    ]
    return lsp.Diagnostic(
        _span_range(document, found.span) if own and found.span is not None else _top(),
        "\n".join([message, *(f"help: {text}" for text in helps)]),
        _SEVERITIES[found.severity],
        source="kina",
        related_information=related,
    )


def _top() -> lsp.Range:
    return lsp.Range(lsp.Position(0, 0), lsp.Position(0, 1))


def _location(span: Span) -> lsp.Location:
    uri = from_fs_path(span.file) or span.file
    return lsp.Location(uri, _span_range(_document(uri), span))


def _span_range(document: TextDocument, span: Span) -> lsp.Range:
    first = ServerTextPosition(span.line - 1, span.column - 1)
    last = ServerTextPosition(span.line - 1, span.column - 1 + span.width)
    return lsp.Range(*(document.position_to_client_units(place) for place in (first, last)))


# -- What stands at a place.


@SERVER.feature(lsp.TEXT_DOCUMENT_HOVER)
def hover(params: lsp.HoverParams) -> lsp.Hover | None:
    """The type of what is under the pointer."""
    document = _document(params.text_document.uri)
    found = features.hover(_analysis(document), document.offset_at_position(params.position))
    if found is None:
        return None
    text, extent = found
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, f"```kina\n{text}\n```")
    return lsp.Hover(content, _range(document, extent))


@SERVER.feature(
    lsp.TEXT_DOCUMENT_COMPLETION,
    lsp.CompletionOptions(trigger_characters=[".", "<", "="]),
)
def completion(params: lsp.CompletionParams) -> lsp.CompletionList:
    """The words that may be written."""
    document = _document(params.text_document.uri)
    offset = document.offset_at_position(params.position)
    written = document.source
    text = f"{written[:offset]}{_PLACEHOLDER}{written[offset:]}"
    analysis = analyse(_source(document, text))
    if not analysis.names.visible(offset + analysis.base):
        analysis = _good.get(document.uri, analysis)
    items = [
        lsp.CompletionItem(each.word, kind=_ITEMS[each.kind], detail=each.detail)
        for each in features.completions(analysis, offset)
        if each.word != _PLACEHOLDER
    ]
    return lsp.CompletionList(is_incomplete=False, items=items)


@SERVER.feature(
    lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(trigger_characters=["(", ","])
)
def signature_help(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    """The parameters of the call that is being written."""
    document = _document(params.text_document.uri)
    analysis = _analysis(document)
    offset = document.offset_at_position(params.position)
    found = features.signature(analysis, offset)
    if found is None:
        return None
    parameters = [lsp.ParameterInformation(each) for each in found.parameters]
    information = lsp.SignatureInformation(found.label, parameters=parameters)
    return lsp.SignatureHelp([information], 0, found.active)


@SERVER.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
def inlay_hint(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """The types of the variables in a part of the file."""
    document = _document(params.text_document.uri)
    first, last = (
        document.offset_at_position(place) for place in (params.range.start, params.range.end)
    )
    return [
        lsp.InlayHint(
            document.client_position_at_offset(hint.offset), hint.text, lsp.InlayHintKind.Type
        )
        for hint in features.hints(_analysis(document))
        if first <= hint.offset <= last
    ]


# -- Where else it stands.


@SERVER.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
    """Where a name is bound."""
    document = _document(params.text_document.uri)
    analysis = _analysis(document)
    found = features.definition(analysis, document.offset_at_position(params.position))
    if found is None or found.extent is None:
        return None
    return _place(document, analysis, found.extent)


def _place(document: TextDocument, analysis: Analysis, extent: Extent) -> lsp.Location:
    path, own, file = analysis.file_of(extent)
    if extent.start >= analysis.base:
        return lsp.Location(document.uri, _range(document, own))
    uri = from_fs_path(str(path)) or file.name
    return lsp.Location(uri, _range(_document(uri), own))


@SERVER.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
    """Every place where a name is meant, in this file and in those that import it."""
    document = _document(params.text_document.uri)
    analysis = _analysis(document)
    found = features.definition(analysis, document.offset_at_position(params.position))
    return [] if found is None else list(_everywhere(document, analysis, found))


def _everywhere(
    document: TextDocument, analysis: Analysis, meant: Definition
) -> Iterator[lsp.Location]:
    seen: set[tuple[str, int, int]] = set()
    for other, known in _programs(document, analysis, meant):
        for extent in _occurrences(analysis, meant, known):
            location = _place(other, known, extent)
            start = location.range.start
            key = location.uri, start.line, start.character
            if key not in seen:
                seen.add(key)
                yield location


def _programs(
    document: TextDocument, analysis: Analysis, meant: Definition
) -> Iterator[tuple[TextDocument, Analysis]]:
    """The program, and those of the workspace that may see its public names."""
    yield document, analysis
    if meant.kind not in (Kind.FUNCTION, Kind.RECORD, Kind.FIELD) or is_private(meant.name):
        return
    for folder in SERVER.workspace.folders.values():
        root = to_fs_path(folder.uri)
        for path in sorted(Path(root).rglob("*.kina")) if root else ():
            uri = from_fs_path(str(path))
            if uri and uri != document.uri:
                other = _document(uri)
                yield other, _analysis(other)


def _occurrences(analysis: Analysis, meant: Definition, other: Analysis) -> list[Extent]:
    """Where a definition of one program is meant in another, which may import its file."""
    if other is analysis or meant.extent is None:
        return other.names.occurrences(meant)
    path, own, _ = analysis.file_of(meant.extent)
    for base, file in other.source.parts:
        if file.path and path and file.path.resolve() == path.resolve():
            same = other.names.bound_at.get(Extent(own.start + base, own.end + base))
            return [] if same is None else other.names.occurrences(same)
    return []


@SERVER.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
def prepare_rename(params: lsp.PrepareRenameParams) -> lsp.Range | None:
    """The name that would be changed."""
    document = _document(params.text_document.uri)
    analysis = _analysis(document)
    found = analysis.names.at(document.offset_at_position(params.position) + analysis.base)
    if found is None or found[1].extent is None:
        return None
    start, end = (offset - analysis.base for offset in found[0])
    return _range(document, Extent(start, end))


@SERVER.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
    """A new name wherever the old one is meant."""
    document = _document(params.text_document.uri)
    analysis = _analysis(document)
    meant = features.definition(analysis, document.offset_at_position(params.position))
    if meant is None:
        return None
    try:
        features.check_rename(analysis, meant, params.new_name)
    except KinaError as error:
        raise JsonRpcInvalidParams(str(error)) from None
    changes: dict[str, list[lsp.TextEdit]] = {}
    for location in _everywhere(document, analysis, meant):
        changes.setdefault(location.uri, []).append(lsp.TextEdit(location.range, params.new_name))
    return lsp.WorkspaceEdit(changes)


@SERVER.feature(lsp.TEXT_DOCUMENT_FORMATTING)
def formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    """The file in the one layout; nothing for one that cannot be parsed."""
    document = _document(params.text_document.uri)
    try:
        text = format_program(_source(document))
    except KinaError:
        return []
    whole = _range(document, Extent(0, len(document.source)))
    return [] if text == document.source else [lsp.TextEdit(whole, text)]


def serve() -> None:
    """Answer an editor until it ends."""
    # Ends with its streams closed, and the command prints at its end.
    with os.fdopen(os.dup(0), "rb") as stdin, os.fdopen(os.dup(1), "wb") as stdout:
        SERVER.start_io(stdin, stdout)
