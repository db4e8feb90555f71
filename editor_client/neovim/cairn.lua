-- Start Cairn for the current folder, and :Cairn QUESTION to search into the quickfix list. :CairnPause,
-- :CairnResume and :CairnReindex [PATH] steer indexing.
local client_id = vim.lsp.start_client({
  name = "cairn",
  cmd = { "cairn", "lsp" },
  root_dir = vim.fn.getcwd(),
  workspace_folders = { { uri = vim.uri_from_fname(vim.fn.getcwd()), name = vim.fn.getcwd() } },
})

vim.api.nvim_create_autocmd("BufReadPost", {
  callback = function(event) vim.lsp.buf_attach_client(event.buf, client_id) end,
})

vim.api.nvim_create_user_command("Cairn", function(command)
  vim.lsp.get_client_by_id(client_id).request("cairn/search", { query = command.args }, function(problem, answer)
    if problem then return vim.notify(problem.message, vim.log.levels.ERROR) end
    local items = {}
    for _, result in ipairs(answer.results) do
      table.insert(items, {
        filename = vim.uri_to_fname(result.uri),
        lnum = result.range.start.line + 1,
        text = result.title,
      })
    end
    vim.fn.setqflist({}, " ", { title = "Cairn: " .. command.args, items = items })
    vim.cmd("copen")
  end)
end, { nargs = "+" })

local function execute(command, argument)
  vim.lsp.get_client_by_id(client_id).request("workspace/executeCommand", {
    command = command,
    arguments = argument and { argument } or {},
  }, function(problem)
    if problem then vim.notify(problem.message, vim.log.levels.ERROR) end
  end)
end

vim.api.nvim_create_user_command("CairnPause", function() execute("cairn.pause") end, {})
vim.api.nvim_create_user_command("CairnResume", function() execute("cairn.resume") end, {})
vim.api.nvim_create_user_command("CairnReindex", function(command)
  execute("cairn.reindex", command.args ~= "" and { path = command.args } or nil)
end, { nargs = "?", complete = "file" })

vim.api.nvim_create_autocmd("FocusGained", {
  callback = function() execute("cairn.refresh") end,
})
