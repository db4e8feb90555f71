-- The page: a buffer without a file that shows evidence or context, opens its citations and hands out its prompt.

local M = {}

local NAME = "cairn://page"
local buffer, folder, prompt

-- A window that shows a file, the one used before first; nil where there is none.
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

-- The file and line that a text cites first (`path#L10-L14`); nil where it cites none that exists.
local function cited(text)
  local before, line = text:match("^[%s#]*(.-)#L(%d+)")
  for _, path in ipairs(before and { before, before:match("[^%s`([]*$") } or {}) do
    path = folder .. "/" .. path
    if vim.fn.filereadable(path) == 1 then
      return path, tonumber(line)
    end
  end
end

-- Open what the line under the cursor cites, or the one below it: a bullet stands above its citation.
local function open_citation()
  local row = vim.api.nvim_win_get_cursor(0)[1]
  for _, text in ipairs(vim.api.nvim_buf_get_lines(buffer, row - 1, row + 1, false)) do
    local path, line = cited(text)
    if path then
      return open(path, line)
    end
  end
  vim.notify("Cairn: no citation here.", vim.log.levels.INFO)
end

local function make()
  buffer = vim.api.nvim_create_buf(true, true)
  vim.api.nvim_buf_set_name(buffer, NAME)
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].filetype = "markdown"
  for _, keys in ipairs({ "<CR>", "gf" }) do
    vim.keymap.set("n", keys, open_citation, { buffer = buffer, desc = "Open what is cited here" })
  end
end

-- Show `lines`, whose citations lie in `root`; `ready_prompt` is what :CairnPrompt copies. `mods` are those of the
-- command, such as `vertical`.
function M.show(lines, ready_prompt, root, mods)
  if not (buffer and vim.api.nvim_buf_is_loaded(buffer)) then
    if buffer and vim.api.nvim_buf_is_valid(buffer) then
      vim.api.nvim_buf_delete(buffer, { force = true })
    end
    make()
  end
  folder, prompt = root, ready_prompt
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd(mods .. " split")
    vim.api.nvim_win_set_buf(0, buffer)
  end
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
end

-- Copy the prompt of the last answer to the unnamed register and the clipboard.
function M.copy_prompt()
  if not prompt or prompt == "" then
    return vim.notify("Cairn: there is no prompt; :CairnDiscover makes one.", vim.log.levels.WARN)
  end
  vim.fn.setreg('"', prompt)
  local has_clipboard = vim.fn.has("clipboard") == 1
  if has_clipboard then
    vim.fn.setreg("+", prompt)
  end
  local where = has_clipboard and "the clipboard" or 'register " (Neovim has no clipboard here)'
  vim.notify(("Cairn: the prompt is in %s."):format(where), vim.log.levels.INFO)
end

return M
