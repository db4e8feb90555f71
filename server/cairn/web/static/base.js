// Functions of all pages: fetching fragments, notices, copying, keys and the theme.

const RETRY_MS = 1500;
const THEME_COOKIE = "cairn_theme";
const COPIED_MS = 1200;

const notice = document.getElementById("notice");

/** Fetch a part of a page as HTML that the server has escaped; on failure, show a notice instead. */
export async function getFragment(address, signal) {
  for (;;) {
    try {
      const response = await fetch(address, { headers: { "Cairn-Fragment": "1" }, signal });
      const text = await response.text();
      if (response.status === 401) {
        showNotice(text);
        keepAddress();
        return undefined;
      }
      clearNotice();
      return text;
    } catch (problem) {
      if (signal?.aborted) return undefined;
      showNotice("The server does not answer. Trying again…");
      await later(RETRY_MS, signal);
      if (signal?.aborted) return undefined;
    }
  }
}

/** Show a message above the page; `html` is a fragment from the server, or a constant of a script. */
export function showNotice(html) {
  if (notice.innerHTML !== html) notice.innerHTML = html;
}

export function clearNotice() {
  if (notice.firstChild) notice.replaceChildren();
}

/** Let the sign-in lead back to the current page. */
function keepAddress() {
  for (const link of notice.querySelectorAll("[data-keeps-address]")) {
    link.href = `${link.href.split("?")[0]}?next=${encodeURIComponent(location.pathname + location.search)}`;
  }
}

export function later(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

// --- copying ---

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (button) copy(button);
});

export async function copy(button) {
  const from = button.dataset.copyFrom;
  const text = from ? document.getElementById(from).textContent : button.dataset.copy;
  const done = await copyText(text);
  const before = button.dataset.label ?? button.textContent;
  button.dataset.label = before;
  button.textContent = done ? "Copied" : "Not copied";
  setTimeout(() => (button.textContent = before), COPIED_MS);
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByHand(text);
  }
}

/** Copy without the clipboard API, which browsers deny to unencrypted pages of other machines. */
function copyByHand(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "skip";
  document.body.append(area);
  const focused = document.activeElement;
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus?.();
  return done;
}

// --- keys ---

export function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const box = document.getElementById("q");
  if (!box) return;
  event.preventDefault();
  box.focus();
  box.select();
});

// --- the theme ---

const toggle = document.getElementById("theme");
if (toggle) {
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    document.cookie = `${THEME_COOKIE}=${root.dataset.theme}; path=/ui; max-age=31536000; samesite=strict`;
  });
}
