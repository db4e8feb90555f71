// The page of the context panel: an empty body, and what it may load.

export interface PageSources {
  /** What the editor serves the extension's files from, as a source of a content security policy. */
  readonly cspSource: string;
  readonly script: string;
  readonly style: string;
  /** Unguessable, and another one for each page. */
  readonly nonce: string;
}

/** Nothing is loaded but the one script and the one style sheet; nothing inline runs or styles. */
export function page({ cspSource, script, style, nonce }: PageSources): string {
  const policy = `default-src 'none'; style-src ${cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${attribute(policy)}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" href="${attribute(style)}">
  <title>Context</title>
</head>
<body data-vscode-context='{"preventDefaultContextMenuItems": true}'>
  <script nonce="${attribute(nonce)}" src="${attribute(script)}"></script>
</body>
</html>`;
}

function attribute(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
}
