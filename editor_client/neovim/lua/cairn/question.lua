-- The text after :Cairn: a query, with filters anywhere in it (type:code lang:go path:src in:NAME).

local M = {}

local FIELDS = {
  type = "type",
  lang = "language",
  language = "language",
  path = "path",
  ["in"] = "collection",
  collection = "collection",
}

-- Return the query without its filters, and the filter for cairn/search, or nil. Text in double quotes, and a
-- prefix without a value (`std::in:`, `path::join`), are literal.
function M.parse(typed)
  local filter = {}

  local function take_filters(text)
    local rest = text:gsub("%f[^%s%z](%l+):([^%s:]%S*)", function(prefix, values)
      local field = FIELDS[prefix]
      if not field then
        return nil
      end
      filter[field] = filter[field] or {}
      vim.list_extend(filter[field], vim.split(values, ",", { trimempty = true }))
      return ""
    end)
    return (rest:gsub("%s+", " "))
  end

  local parts, at = {}, 1
  for before, quoted, after in typed:gmatch('([^"]*)("[^"]*")()') do
    table.insert(parts, take_filters(before))
    table.insert(parts, quoted)
    at = after
  end
  table.insert(parts, take_filters(typed:sub(at)))

  local question = vim.trim(table.concat(parts))
  return question, next(filter) and filter or nil
end

return M
