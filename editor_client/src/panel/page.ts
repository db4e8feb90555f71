// The HTML of the context panel: an empty body, and its content security policy.

export interface PageSources {
  /** The source of the extension's files, for the content security policy. */
  readonly cspSource: string;
  readonly script: string;
  readonly style: string;
  /** An unguessable value, different for each page. */
  readonly nonce: string;
}

/** The page may load only the one script and the one style sheet, and nothing inline. */
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
