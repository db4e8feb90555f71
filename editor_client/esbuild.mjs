// Bundles the extension and what runs inside its webview. `node esbuild.mjs --watch` while developing.
import { build, context } from "esbuild";

const watch = process.argv.includes("--watch");
const common = { bundle: true, minify: !watch, sourcemap: watch, legalComments: "none", logLevel: "warning" };
const bundles = [
  {
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.cjs",
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
  },
  {
    ...common,
    entryPoints: ["src/webview/panel.ts", "src/webview/panel.css"],
    outdir: "dist",
    platform: "browser",
    format: "iife",
    target: "es2022",
  },
];

for (const options of bundles) await (watch ? (await context(options)).watch() : build(options));
