// Starts `kina lsp` and lets VS Code talk to it.
const path = require("node:path");
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

// A path with a slash is one of the project's, not of the editor's folder.
function command() {
  const written = workspace.getConfiguration("kina").get("command", "kina");
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const relative = written.includes("/") && !path.isAbsolute(written);
  return relative && folder ? path.join(folder, written) : written;
}

exports.activate = async () => {
  const server = { command: command(), args: ["lsp"] };
  const documents = { documentSelector: [{ language: "kina" }] };
  client = new LanguageClient("kina", "Kina", server, documents);
  await client.start();
};

exports.deactivate = () => client?.stop();
