-- Cairn's servers: one process for each root folder, started when first needed. Works with Neovim 0.7, and
-- uses newer interfaces where old ones are deprecated.

local M = {}

local uv = vim.uv or vim.loop
local HAS_0_11 = vim.fn.has("nvim-0.11") == 1
local HAS_0_12 = vim.fn.has("nvim-0.12") == 1

-- How long a server may take to end before it is killed.
local END_MS = 3000

local INSTALL = [[Cairn: the server was not found (%s).
Install it: in a checkout of Cairn, run scripts/discover once. If this plugin is elsewhere, set the command:
  require("cairn").setup({ cmd = { "CHECKOUT/.venv/bin/cairn", "lsp" } })
Then :CairnRestart.]]

local command, settings, show_lenses
-- By root folder: { state, id, client, waiting, restarting }. `state` is starting, running, ending, ended or
-- missing; `id` exists as long as the process; `waiting` has requests made before it runs.
local servers = {}
-- The root folder of the last request or opened file.
local latest

local function complain(text)
  vim.notify(text, vim.log.levels.ERROR)
end

local function slashed(path)
  return vim.fn.has("win32") == 1 and (path:gsub("\\", "/")) or path
end

-- Return the path relative to `root`; nil for paths outside.
function M.inside(root, path)
  path = slashed(path):gsub("/$", "")
  root = slashed(root)
  if path == root then
    return ""
  end
  return vim.startswith(path, root .. "/") and path:sub(#root + 2) or nil
end

function M.is_file(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  return vim.bo[buffer].buftype == ""
    and name ~= ""
    and not name:match("^%a[%w+.-]+://")
    and vim.fn.isdirectory(name) == 0
end

-- Return the nearest folder with a `.git` (a file, in a worktree), from `folder` upwards.
local function git_root(folder)
  local parent = vim.fn.fnamemodify(folder, ":h")
  if uv.fs_stat(folder .. "/.git") then
    return folder
  end
  return parent ~= folder and git_root(parent) or nil
end

-- Return the root of a file: its git repository, or else a folder that is already served.
local function root_of(buffer)
  local path = vim.api.nvim_buf_get_name(buffer)
  local root = git_root(vim.fn.fnamemodify(path, ":h"))
  if root then
    return root
  end
  for served in pairs(servers) do
    if M.inside(served, path) then
      return served
    end
  end
end

-- Return the root for a request: that of the current file; in other windows the last one, or Neovim's current
-- folder. Return nil, with a message, if that is not a project.
function M.root()
  local root = M.is_file(0) and root_of(0) or latest or git_root(vim.fn.getcwd()) or vim.fn.getcwd()
  if root == uv.os_homedir() or root == vim.fn.fnamemodify(root, ":h") then
    return complain(("Cairn: %s is not a project. Open a file of one, or :cd to it."):format(root))
  end
  return root
end

local function request(server, method, params, handler)
  -- Without a buffer, Neovim sends pending changes of all buffers first.
  if HAS_0_11 then
    return server.client:request(method, params, handler)
  end
  return server.client.request(method, params, handler)
end

-- Return the client that serves a buffer, and a function that sends it a request; nil while there is none.
function M.of(buffer)
  local root = M.is_file(buffer) and root_of(buffer)
  local server = root and servers[root]
  if server and server.state == "running" then
    return server.client, function(...)
      return request(server, ...)
    end
  end
end

local function attach_files(root, id)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and M.is_file(buffer) and root_of(buffer) == root then
      vim.lsp.buf_attach_client(buffer, id)
    end
  end
end

-- The server says that the shown buffers may have other code lenses.
local function refresh_lenses()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    show_lenses(vim.api.nvim_win_get_buf(window))
  end
  return vim.NIL
end

local function capabilities()
  local all = vim.lsp.protocol.make_client_capabilities()
  all.workspace.codeLens = { refreshSupport = true }
  return all
end

local start

local function ended(root, server, code, signal)
  server.state, server.id, server.client = "ended", nil, nil
  if server.restarting then
    start(root, server.waiting)
  elseif (code ~= 0 or signal ~= 0) and vim.v.exiting == vim.NIL then
    local how = signal ~= 0 and "signal " .. signal or "exit code " .. code
    local log = require("vim.lsp.log").get_filename()
    local text = "Cairn: the server of %s ended (%s). :CairnRestart starts it again.\nWhat it said is in %s."
    complain(text:format(root, how, log))
  end
end

function start(root, waiting)
  local server = { state = "starting", waiting = waiting or {} }
  servers[root] = server
  if vim.fn.executable(command[1]) == 0 then
    server.state = "missing"
    return complain(INSTALL:format(command[1]))
  end
  local config = {
    name = "cairn",
    cmd = command,
    -- Nothing in the workspace must be imported instead of Cairn.
    cmd_env = { PYTHONSAFEPATH = "1" },
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = vim.fn.fnamemodify(root, ":t") } },
    init_options = settings,
    settings = { cairn = settings },
    on_init = function(client)
      server.client, server.state = client, "running"
      -- Deferred, because open files are sent first.
      vim.schedule(function()
        for _, ask in ipairs(server.waiting) do
          ask(server)
        end
        server.waiting = {}
      end)
    end,
    on_attach = function(_, buffer)
      vim.schedule(function()
        show_lenses(buffer)
      end)
    end,
    capabilities = capabilities(),
    handlers = { ["workspace/codeLens/refresh"] = not HAS_0_12 and refresh_lenses or nil },
    on_exit = vim.schedule_wrap(function(code, signal)
      ended(root, server, code, signal)
    end),
  }
  if HAS_0_11 then
    local never = function()
      return false
    end
    server.id = vim.lsp.start(config, { attach = false, reuse_client = never })
  else
    server.id = vim.lsp.start_client(config)
  end
  if server.id then
    attach_files(root, server.id)
  else
    server.state = "ended"
  end
end

-- Return the server of the folder, started if necessary; nil, with a message, if that is impossible.
local function serving(root)
  latest = root
  if not servers[root] then
    start(root)
    return servers[root].id and servers[root]
  end
  if servers[root].id then
    return servers[root]
  end
  if servers[root].state == "missing" then
    complain(INSTALL:format(command[1]))
  else
    complain("Cairn: the server has ended. :CairnRestart starts it again.")
  end
end

-- Send a request to the server of the current folder; `on_answer(answer, root)` is called on success.
function M.ask(method, params, on_answer)
  local root = M.root()
  local server = root and serving(root)
  if not server then
    return
  end
  -- The running server is looked up now, because a restart may have replaced it.
  local function ask(running)
    request(running, method, params or vim.empty_dict(), function(problem, answer)
      if problem then
        complain("Cairn: " .. problem.message)
      else
        on_answer(answer, root)
      end
    end)
  end
  if server.state == "running" then
    ask(server)
  else
    table.insert(server.waiting, ask)
  end
end

-- Send a notification to the server of `root`, if it runs.
function M.tell(root, method, params)
  local server = servers[root]
  if not server or server.state ~= "running" then
    return
  end
  if HAS_0_11 then
    server.client:notify(method, params)
  else
    server.client.notify(method, params)
  end
end

-- Attach the buffer, saved or not, to a server. A server starts by itself only in a git repository; another
-- folder may be as large as a disk, so a command must ask for it.
function M.attach(buffer)
  if not (vim.api.nvim_buf_is_valid(buffer) and vim.api.nvim_buf_is_loaded(buffer) and M.is_file(buffer)) then
    return
  end
  local root = root_of(buffer)
  if not root then
    return
  end
  latest = root
  if not servers[root] then
    start(root)
  elseif servers[root].id then
    vim.lsp.buf_attach_client(buffer, servers[root].id)
  end
end

-- Make every server look for changes without notifications.
function M.refresh()
  for _, server in pairs(servers) do
    if server.state == "running" then
      request(server, "workspace/executeCommand", { command = "cairn.refresh" }, function() end)
    end
  end
end

local function stop(server, force)
  if HAS_0_11 and server.client then
    server.client:stop(force)
  else
    vim.lsp.stop_client(server.id, force)
  end
end

-- Restart the server of the current folder.
function M.restart()
  local root = M.root()
  if not root then
    return
  end
  local server = servers[root]
  if not (server and server.id) then
    return start(root)
  end
  server.state, server.restarting = "ending", true
  stop(server, false)
  vim.defer_fn(function()
    if server.id then
      stop(server, true)
    end
  end, END_MS)
end

-- The command in the PATH, or else in the checkout that contains this plugin.
local function default_command()
  local checkout = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h:h:h:h:h")
  local environment = checkout .. "/.venv"
  for _, path in ipairs({ "cairn", environment .. "/bin/cairn", environment .. "/Scripts/cairn.exe" }) do
    if vim.fn.executable(path) == 1 then
      return { path, "lsp" }
    end
  end
  return { "cairn", "lsp" }
end

-- `on_lenses(buffer)` is called when the buffer may have other code lenses.
function M.configure(options, on_lenses)
  show_lenses = on_lenses
  command = options.cmd or default_command()
  local given = options.settings or {}
  -- An empty table would be sent as a list.
  settings = next(given) and given or vim.empty_dict()
end

return M
