-- Code lenses, drawn by Neovim's own module: `vim.lsp.codelens.run()` runs the one at the cursor.

local server = require("cairn.server")

local M = {}

-- What other servers count as well, by the beginning of what their lenses say.
local SECTIONS = {
  callers = "callers",
  calls = "callers",
  implementation = "overrides",
  implementations = "overrides",
  overrides = "overrides",
  reference = "callers",
  references = "callers",
  tests = "tests",
  usages = "callers",
}

-- Neovim 0.12 requests and draws lenses by itself, once that is enabled.
local HAS_0_12 = vim.fn.has("nvim-0.12") == 1

-- By buffer: the id of the client that is asked for its lenses, and whether it must be asked again.
local asked, again = {}, {}

local function is_own(lens)
  return lens.command and lens.command.command == "cairn.show"
end

-- Return the sections that lenses of other servers of the buffer announce.
local function others(buffer)
  local found = {}
  for _, lens in ipairs(vim.lsp.codelens.get(buffer)) do
    local word = lens.command and lens.command.title:lower():match("^%d+ (%a+)")
    if not is_own(lens) and SECTIONS[word] then
      found[SECTIONS[word]] = true
    end
  end
  return found
end

-- Resolve all lenses, and then call `done`. Neovim would draw each as unresolved first.
local function resolve(request, lenses, done)
  local open = #lenses
  if open == 0 then
    return done()
  end
  for index, lens in ipairs(lenses) do
    request("codeLens/resolve", lens, function(_, resolved)
      lenses[index] = resolved or lens
      open = open - 1
      if open == 0 then
        done()
      end
    end)
  end
end

local function draw(buffer, id, lenses)
  local other = others(buffer)
  local shown = vim.tbl_filter(function(lens)
    return is_own(lens) and lens.command.title ~= "" and not other[lens.command.arguments[1].section]
  end, lenses)
  if #shown == 0 then
    -- Neovim 0.7 would leave the former ones.
    vim.api.nvim_buf_clear_namespace(buffer, vim.lsp.codelens.__namespaces[id], 0, -1)
  end
  vim.lsp.codelens.on_codelens(nil, shown, { bufnr = buffer, client_id = id })
end

-- Request the lenses of a buffer and draw them, unless its text changes meanwhile.
function M.refresh(buffer)
  local client, request = server.of(buffer)
  if not client or not client.server_capabilities.codeLensProvider then
    return
  end
  if HAS_0_12 then
    return vim.lsp.codelens.enable(true, { client_id = client.id })
  end
  if asked[buffer] == client.id then
    again[buffer] = true
    return
  end
  asked[buffer], again[buffer] = client.id, nil
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
  request("textDocument/codeLens", params, function(_, answer)
    local lenses = answer or {}
    resolve(request, lenses, function()
      asked[buffer] = nil
      if not vim.api.nvim_buf_is_loaded(buffer) then
        return
      end
      if vim.api.nvim_buf_get_changedtick(buffer) == tick then
        draw(buffer, client.id, lenses)
      end
      if again[buffer] then
        M.refresh(buffer)
      end
    end)
  end)
end

return M
