-- The page: a buffer without a file that shows excerpts or context, opens citations, and copies the prompt.

local M = {}

local NAME = "cairn://page"
local buffer, folder, prompt
-- The prompt of the last answer, which need not be the page's.
local latest
-- The content of the page, and whether it or the prompt is shown.
local shown, is_prompt

-- Languages with another name in Neovim's syntax files.
local SYNTAX = {
  assembly = "asm",
  bash = "sh",
  commonlisp = "lisp",
  csharp = "cs",
  dotenv = "sh",
  embedded_template = "eruby",
  ini = "dosini",
  json5 = "json",
  jsonc = "json",
  jsx = "javascriptreact",
  latex = "tex",
  powershell = "ps1",
  properties = "jproperties",
  tsx = "typescriptreact",
}

-- Return a window with a file, the previous one first, or nil.
local function file_window()
  local windows = vim.api.nvim_tabpage_list_wins(0)
  table.insert(windows, 1, vim.fn.win_getid(vim.fn.winnr("#")))
  for _, window in ipairs(windows) do
    if window ~= 0 and vim.bo[vim.api.nvim_win_get_buf(window)].buftype == "" then
      return window
    end
  end
end

local function open(path, line)
  local window = file_window()
  if window then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd("aboveleft split")
  end
  vim.cmd("normal! m'")
  local file = vim.fn.bufadd(path)
  vim.bo[file].buflisted = true
  vim.cmd("buffer " .. file)
  vim.api.nvim_win_set_cursor(0, { math.min(line, vim.api.nvim_buf_line_count(0)), 0 })
  vim.cmd("normal! zvzz")
end

-- Return the file and line of the first citation in a text (`path#L10-L14`); nil if none exists.
local function cited(text)
  local before, line = text:match("^[%s#]*(.-)#L(%d+)")
  for _, path in ipairs(before and { before, before:match("[^%s`([]*$") } or {}) do
    path = folder .. "/" .. path
    if vim.fn.filereadable(path) == 1 then
      return path, tonumber(line)
    end
  end
end

-- Return the file and line that a row of the prompt quotes or names: the path above it, and the number in the
-- row or the nearest one above; at a path, the number below.
local function quoted(row)
  local rows = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  local line
  for at = row, 1, -1 do
    local path = folder .. "/" .. rows[at]:gsub("^#+ ", "")
    local is_path = vim.fn.filereadable(path) == 1
    for near = at, is_path and math.min(at + 3, #rows) or at do
      local number = rows[near]:match("^%s*(%d+)")
      line = line or number and tonumber(number) + math.max(0, row - near)
    end
    if is_path then
      return path, line or 1
    end
  end
end

-- Open the quoted line under the cursor, the citation in the line, or the one below: a bullet is above its
-- citation.
local function open_citation()
  local row = vim.api.nvim_win_get_cursor(0)[1]
  local place = not is_prompt and shown.places[row]
  if place then
    return open(place.path, place.line)
  end
  for _, text in ipairs(vim.api.nvim_buf_get_lines(buffer, row - 1, row + 1, false)) do
    local path, line = cited(text)
    if path then
      return open(path, line)
    end
  end
  if is_prompt then
    local path, line = quoted(row)
    if path then
      return open(path, line)
    end
  end
  vim.notify("Cairn: no citation here.", vim.log.levels.INFO)
end

-- Remember the prompt of an answer that has no page.
function M.keep_prompt(ready_prompt)
  latest = ready_prompt
end

-- Copy a prompt to the unnamed register and the clipboard.
local function copy(text)
  if not text or text == "" then
    return vim.notify("Cairn: there is no prompt; :CairnDiscover makes one.", vim.log.levels.WARN)
  end
  vim.fn.setreg('"', text)
  local has_clipboard = vim.fn.has("clipboard") == 1
  if has_clipboard then
    vim.fn.setreg("+", text)
  end
  local where = has_clipboard and "the clipboard" or 'register " (Neovim has no clipboard here)'
  vim.notify(("Cairn: the prompt is in %s."):format(where), vim.log.levels.INFO)
end

-- Copy the prompt of the last answer.
function M.copy_prompt()
  copy(latest)
end

-- Copy the prompt of the page.
local function copy_shown()
  copy(prompt)
end

-- Let Neovim's syntax highlight fenced blocks in the languages that the page contains.
local function highlight(lines)
  local ok, highlighter = pcall(require, "vim.treesitter.highlighter")
  if ok and highlighter.active[buffer] then
    return -- which does that by itself
  end
  local own, wanted = vim.g.markdown_fenced_languages, {}
  for _, line in ipairs(lines) do
    local language = line:match("^```+([%w_+-]+)$")
    local syntax = language and (SYNTAX[language] or language)
    -- Markdown in Markdown would include itself endlessly.
    local file = syntax and syntax ~= "markdown" and ("syntax/%s.vim"):format(syntax)
    if file and #vim.api.nvim_get_runtime_file(file, false) > 0 then
      wanted[language] = language .. "=" .. syntax
    end
  end
  vim.g.markdown_fenced_languages = vim.list_extend(vim.tbl_values(wanted), own or {})
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd("setlocal syntax=markdown")
  end)
  vim.g.markdown_fenced_languages = own
end

local function draw(lines)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  highlight(lines)
end

-- Switch between the content and its prompt, each at its last line.
local function toggle_prompt()
  if not is_prompt and prompt == "" then
    return copy_shown()
  end
  local row = vim.api.nvim_win_get_cursor(0)[1]
  is_prompt = not is_prompt
  draw(is_prompt and vim.split(prompt, "\n") or shown.lines)
  vim.api.nvim_win_set_cursor(0, { math.min(shown.row or 1, vim.api.nvim_buf_line_count(0)), 0 })
  shown.row = row
end

local function make()
  buffer = vim.api.nvim_create_buf(true, true)
  vim.api.nvim_buf_set_name(buffer, NAME)
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].filetype = "markdown"
  local function map(keys, action, desc)
    vim.keymap.set("n", keys, action, { buffer = buffer, nowait = true, desc = desc })
  end
  map("<CR>", open_citation, "Open what is cited here")
  map("gf", open_citation, "Open what is cited here")
  map("c", copy_shown, "Copy the prompt")
  map("p", toggle_prompt, "Show the prompt, or what it was made of")
end

-- Show `lines`, whose citations are relative to `root`. `places` has the file and line of quoted rows.
-- `ready_prompt` is what :CairnPrompt copies. `mods` are the modifiers of the command, such as `vertical`.
-- The cursor is at `row`, or else in the first one.
function M.show(lines, places, ready_prompt, root, mods, row)
  if not (buffer and vim.api.nvim_buf_is_loaded(buffer)) then
    if buffer and vim.api.nvim_buf_is_valid(buffer) then
      vim.api.nvim_buf_delete(buffer, { force = true })
    end
    make()
  end
  folder, prompt, latest = root, ready_prompt, ready_prompt
  shown, is_prompt = { lines = lines, places = places }, false
  draw(lines)
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd(mods .. " split")
    vim.api.nvim_win_set_buf(0, buffer)
  end
  vim.api.nvim_win_set_cursor(0, { row or 1, 0 })
end

return M
