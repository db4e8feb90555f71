-- Cairn in Neovim: its commands, and the events that it reports to the server. See :help cairn.

local answers = require("cairn.answers")
local lenses = require("cairn.lenses")
local page = require("cairn.page")
local server = require("cairn.server")

local M = {}

-- A list is read from the top. If one screen of results is not enough, a better query is.
local LIMIT = 20

local function say(text)
  vim.notify("Cairn: " .. text, vim.log.levels.INFO)
end

local function search(command)
  local question, filter = require("cairn.question").parse(command.args)
  if question == "" then
    return vim.notify("Cairn: give a question besides the filters.", vim.log.levels.WARN)
  end
  -- An entry of the list leads to one place.
  local params = { query = question, filter = filter, limit = LIMIT, context = 0, passages = 1 }
  params.bestOnly = true
  server.ask("cairn/search", params, function(answer, root)
    answers.list(answer, {
      query = question,
      title = "Cairn: " .. command.args,
      root = root,
      jump = command.bang,
    })
  end)
end

local function discover(command)
  server.ask("cairn/discover", { query = command.args }, function(answer, root)
    local lines, places = answers.discovery(answer, command.args)
    page.show(lines, places, answer.answerPrompt, root, command.mods)
  end)
end

-- Return the lines of the command's range, or an empty range at the cursor; nil if the buffer is not a file.
local function place(command)
  if not server.is_file(0) then
    return vim.notify("Cairn: this window shows no file.", vim.log.levels.WARN)
  end
  if command.range == 0 then
    local cursor = vim.lsp.util.make_position_params(0, "utf-16").position
    return { uri = vim.uri_from_bufnr(0) }, { start = cursor, ["end"] = cursor }
  end
  local first, last = command.line1 - 1, command.line2
  return { uri = vim.uri_from_bufnr(0) }, {
    start = { line = first, character = 0 },
    ["end"] = { line = last, character = 0 },
  }
end

local function related(command)
  local document, range = place(command)
  if not document then
    return
  end
  local title = ("Cairn: related to %s:%d"):format(vim.fn.expand("%:t"), command.line1)
  local params = { textDocument = document, range = range, limit = LIMIT, context = 0 }
  server.ask("cairn/related", params, function(answer, root)
    answers.list(answer, { title = title, root = root, jump = command.bang })
  end)
end

local function context(command)
  local document, range = place(command)
  if not document then
    return
  end
  local params = { textDocument = document, range = range, query = command.args }
  server.ask("cairn/context", params, function(answer, root)
    page.show(vim.split(answer.context, "\n"), {}, answer.context, root, command.mods)
  end)
end

-- List what the changes since a commit, branch or tag touch; by default, since the last commit.
local function changes(command)
  local params = { base = command.args ~= "" and command.args or nil, limit = LIMIT }
  server.ask("cairn/change", params, function(answer)
    page.keep_prompt(answer.prompt)
    for _, message in ipairs(answer.messages) do
      say(message)
    end
    if #answer.files == 0 then
      return say("nothing changed.")
    end
    local items, title = require("cairn.changes").list(answer)
    vim.fn.setqflist({}, " ", { title = title, items = items })
    vim.cmd(command.bang and #items > 0 and "cfirst" or "botright copen")
  end)
end

-- Show what belongs to a place, from the section on that a code lens names.
local function show(command, at)
  -- Neovim removes the lenses of a line where one is run.
  lenses.refresh(at.bufnr)
  local asked = command.arguments[1]
  local params = { textDocument = { uri = asked.uri }, position = asked.position }
  server.ask("cairn/context", params, function(answer, root)
    local lines, places, row = answers.context(answer, asked.section)
    page.show(lines, places, answer.context, root, "", row)
  end)
end

local function status()
  server.ask("cairn/status", nil, function(answer, root)
    say(table.concat(answers.status(answer, root), "\n"))
  end)
end

local function reindex(command)
  if command.args == "" then
    return server.ask("cairn/reindex", nil, function()
      say("indexing everything anew.")
    end)
  end
  local root = server.root()
  local path = root and server.inside(root, vim.fn.fnamemodify(command.args, ":p"))
  if not path then
    return vim.notify(("Cairn: %s is not in %s."):format(command.args, root), vim.log.levels.ERROR)
  end
  server.ask("cairn/reindex", path ~= "" and { path = path } or nil, function()
    say("indexing " .. (path == "" and "everything" or path) .. " anew.")
  end)
end

local function pause()
  server.ask("cairn/pause", nil, function()
    say("paused. What you save is still found; :CairnResume goes on making vectors.")
  end)
end

local function resume()
  server.ask("cairn/resume", nil, function()
    say("resumed.")
  end)
end

-- Complete the branches and tags of the repository.
local function revisions(typed)
  local root = server.root()
  local command = { "git", "-C", root or ".", "for-each-ref", "--format=%(refname:short)" }
  local names = vim.fn.systemlist(command)
  return vim.v.shell_error == 0 and vim.tbl_filter(function(name)
    return vim.startswith(name, typed)
  end, names) or {}
end

local function define_commands()
  local define = vim.api.nvim_create_user_command
  define("Cairn", search, { nargs = "+", bang = true, desc = "Search into the quickfix list" })
  define("CairnDiscover", discover, { nargs = "+", desc = "Excerpts with citations, and a prompt" })
  define("CairnPrompt", page.copy_prompt, { desc = "Copy the prompt of the last answer" })
  define("CairnRelated", related, { range = true, bang = true, desc = "What is related to these lines" })
  define("CairnContext", context, { range = true, nargs = "*", desc = "A prompt about these lines" })
  define("CairnChanges", changes, {
    nargs = "?",
    bang = true,
    complete = revisions,
    desc = "What the changes since the last commit touch",
  })
  define("CairnStatus", status, { desc = "What the index holds, and how far indexing is" })
  define("CairnReindex", reindex, { nargs = "?", complete = "file", desc = "Index files again" })
  define("CairnPause", pause, { desc = "Stop making vectors" })
  define("CairnResume", resume, { desc = "Go on making vectors" })
  define("CairnRestart", server.restart, { desc = "Start the server anew" })
end

local function listen()
  local group = vim.api.nvim_create_augroup("cairn", {})
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufWritePost" }, {
    group = group,
    callback = function(event)
      -- Deferred, because the file type may not be known yet.
      vim.schedule(function()
        server.attach(event.buf)
      end)
    end,
  })
  vim.api.nvim_create_autocmd({ "BufEnter", "InsertLeave", "TextChanged" }, {
    group = group,
    callback = function(event)
      lenses.refresh(event.buf)
    end,
  })
  vim.api.nvim_create_autocmd("FocusGained", { group = group, callback = server.refresh })
  -- Deferred, because the cursor reaches the line of a quickfix entry after its buffer was entered.
  vim.api.nvim_create_autocmd({ "BufEnter", "CursorMoved" }, {
    group = group,
    callback = function()
      vim.schedule(answers.tell_opened)
    end,
  })
end

-- The options are `cmd` (the server's command, a list) and `settings` (as in .cairn.toml, in camelCase).
function M.setup(options)
  server.configure(options or {}, lenses.refresh)
  define_commands()
  -- Neovim calls this, and not the server, when a code lens is run.
  vim.lsp.commands["cairn.show"] = show
  listen()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    server.attach(buffer)
  end
end

return M
