-- What a change touches as a quickfix list: what must be repaired comes first.

local M = {}

-- The lists of an answer: `list` is its field, `type` the type of quickfix entries, `counted` what the title
-- counts. Places that still use an old definition are errors, and other users of what changed are warnings.
local LISTS = {
  { list = "stale", type = "E", counted = "still use an old definition" },
  { list = "dependents", type = "W", counted = "depend on it" },
  { list = "tests", type = "I", counted = "tests", about = "test" },
  { list = "companions", type = "I", counted = "usually change with it", about = "usually changes with it" },
  { list = "unreached", type = "N", counted = "without a test", about = "no test reaches" },
  { list = "changed", type = "N", counted = "changed" },
}

local function entry(place, kind, text)
  local first, last = place.range.start, place.range["end"]
  return {
    filename = vim.uri_to_fname(place.uri),
    -- Shown in place of the file's name, which is long if Neovim is far from the root folder.
    module = place.path,
    lnum = first.line + 1,
    col = first.character + 1,
    end_lnum = last.character == 0 and math.max(last.line, first.line + 1) or last.line + 1,
    type = kind,
    text = text,
  }
end

local function joined(separator, ...)
  return table.concat(
    vim.tbl_filter(function(part)
      return part and part ~= ""
    end, { ... }),
    separator
  )
end

-- The text of an entry: what it is about, the reasons, and the line.
local function about(each, list)
  local reasons = table.concat(each.reasons, ", ")
  if list.list == "changed" then
    return joined(": ", each.symbol, reasons)
  end
  local is_quoted = list.type == "E" or list.type == "W" or each.kind == "document"
  local line = is_quoted and vim.trim(each.line) or ""
  return joined(" — ", joined(": ", list.about, joined(", ", each.symbol, reasons)), line)
end

-- Return the places whose files have none of the `others`.
local function outside(places, others)
  local uris = {}
  for _, each in ipairs(others) do
    uris[each.uri] = true
  end
  return vim.tbl_filter(function(each)
    return not uris[each.uri]
  end, places)
end

-- Return the entries of the quickfix list and its title.
function M.list(answer)
  local stale, others = {}, {}
  for _, each in ipairs(answer.dependents) do
    table.insert(each.isStale and stale or others, each)
  end
  local found = vim.tbl_extend("force", answer, {
    stale = stale,
    -- What a list names need not be in a later one.
    dependents = outside(others, answer.tests),
    companions = outside(answer.companions, answer.dependents),
  })
  local items, counts = {}, {}
  for _, list in ipairs(LISTS) do
    local places = found[list.list]
    for _, each in ipairs(places) do
      local item = entry(each, list.type, about(each, list))
      if each.kind == "removed" then
        -- A removed definition has no line any more, so its entry leads nowhere.
        item.filename, item.lnum, item.col, item.end_lnum = nil, nil, nil, nil
      end
      table.insert(items, item)
    end
    local count = #places + (answer.leftOut[list.list] or 0)
    if count > 0 then
      table.insert(counts, count .. " " .. list.counted)
    end
  end
  local since = answer.base ~= "" and " since " .. answer.base:sub(1, 8) or ""
  return items, ("Cairn: changes%s: %s"):format(since, table.concat(counts, ", "))
end

return M
