-- Answers in the form of Neovim: results as a quickfix list, evidence and status as lines of text.

local server = require("cairn.server")

local M = {}

-- How a passage is related, as many ways as fit beside its title.
local REASONS = 2
-- How many lines of a related passage are quoted.
local QUOTED = 4

-- The headings of a context's sections.
local HEADINGS = {
  query = "Found by the question",
  callers = "Called and used by",
  overrides = "Implementations and overrides",
  used = "Uses",
  tests = "Tests",
  twins = "Counterparts",
  documents = "Documents",
  together = "Changed together",
  similar = "Similar",
}

-- By the quickfix list's id: { query, root, results, reported }; only existing lists.
local searches = {}

local function is_given(value)
  return value ~= nil and value ~= vim.NIL and value ~= ""
end

-- The text beside a result's title: the line that matches best, or how a passage is related.
local function about(result, is_search)
  if not is_search then
    return table.concat(result.reasons, ", ", 1, math.min(REASONS, #result.reasons))
  end
  local matched = result.matchedLine
  return is_given(matched) and ("%d: %s"):format(matched.line + 1, matched.text) or ""
end

local function entry(result, is_search)
  local named, last = result.selectionRange.start, result.range["end"]
  local beside = about(result, is_search)
  return {
    filename = vim.uri_to_fname(result.uri),
    -- Shown in place of the file's name, which is long if Neovim is far from the root folder.
    module = result.path,
    -- A passage may begin above its definition, with a comment or with imports.
    lnum = named.line + 1,
    col = named.character + 1,
    -- The end of the range is exclusive: at the start of a line it means the line above.
    end_lnum = last.character == 0 and math.max(last.line, named.line + 1) or last.line + 1,
    text = result.title .. (beside ~= "" and " — " .. beside or ""),
  }
end

local function say_verdict(verdict)
  if is_given(verdict.note) then
    vim.notify("Cairn: " .. verdict.note, vim.log.levels.INFO)
  end
  if verdict.action ~= "answer" and is_given(verdict.message) then
    local level = verdict.action == "noMatch" and vim.log.levels.WARN or vim.log.levels.INFO
    local begin = verdict.action == "noMatch" and "nothing matches well. " or ""
    vim.notify("Cairn: " .. begin .. verdict.message, level)
  end
end

local function say_further(further)
  local sentences = vim.tbl_map(function(each)
    local hold = each.places == 1 and "1 more place holds" or each.places .. " more places hold"
    return ('%s "%s".'):format(hold, each.word)
  end, further)
  if #sentences > 0 then
    vim.notify("Cairn: " .. table.concat(sentences, " "), vim.log.levels.INFO)
  end
end

local function remember(search)
  for id in pairs(searches) do
    if vim.fn.getqflist({ id = id }).id == 0 then
      searches[id] = nil
    end
  end
  searches[vim.fn.getqflist({ id = 0 }).id] = search
end

-- Whether the cursor is at the place of entry `number` of the current quickfix list.
local function is_at(number)
  local chosen = vim.fn.getqflist({ items = 0 }).items[number]
  local line = vim.api.nvim_win_get_cursor(0)[1]
  return chosen and chosen.bufnr == vim.api.nvim_get_current_buf() and chosen.lnum == line
end

-- Make a quickfix list of the results and open its window; with `jump`, go to the first result. `asked` has
-- `title`, `root`, `jump`, and optionally `query`.
function M.list(answer, asked)
  if #answer.results == 0 then
    local verdict = answer.verdict or {}
    return vim.notify(
      "Cairn: nothing found." .. (is_given(verdict.message) and " " .. verdict.message or ""),
      vim.log.levels.WARN
    )
  end
  local title = asked.title .. (answer.index.complete and "" or " (still indexing)")
  local items = vim.tbl_map(function(result)
    return entry(result, asked.query ~= nil)
  end, answer.results)
  vim.fn.setqflist({}, " ", { title = title, items = items })
  if asked.query then
    -- A place to which the plugin moved the cursor, or where it was before, is not a choice of the user.
    local reported = { asked.jump or is_at(1) }
    remember({ query = asked.query, root = asked.root, results = answer.results, reported = reported })
  end
  vim.cmd(asked.jump and "cfirst" or "botright copen")
  if answer.verdict then
    say_verdict(answer.verdict)
  end
  say_further(answer.further or {})
end

-- Report once which result of a search was opened: the one at the cursor, if it is the current quickfix
-- entry.
function M.tell_opened()
  local list = vim.fn.getqflist({ id = 0, idx = 0 })
  local search = searches[list.id]
  if not search or search.reported[list.idx] or vim.bo.buftype ~= "" then
    return
  end
  if is_at(list.idx) then
    search.reported[list.idx] = true
    local result = search.results[list.idx]
    server.tell(search.root, "cairn/feedback", {
      query = search.query,
      contentHash = result.contentHash,
      action = "open",
      path = result.path,
      folder = result.folder,
    })
  end
end

-- Return a fence with enough backticks.
local function fence(text)
  local longest = 2
  for run in text:gmatch("`+") do
    longest = math.max(longest, #run)
  end
  return ("`"):rep(longest + 1)
end

-- Whether the plan's sections come first: the prompt has them, or there is nothing else.
local function sections_lead(answer)
  for _, section in ipairs(answer.plan.sections) do
    if answer.answerPrompt:find(section.title, 1, true) then
      return true
    end
  end
  return #answer.excerpts == 0
end

local function add_sections(lines, plan)
  for _, section in ipairs(plan.sections) do
    vim.list_extend(lines, { "", "## " .. section.title, "" })
    for _, bullet in ipairs(section.bullets) do
      vim.list_extend(lines, { "- " .. bullet.text:gsub("%s+", " "), "  " .. bullet.citation })
    end
  end
end

-- Append a line, and note that it is about a line of a file.
local function add_line(lines, places, text, each, line)
  table.insert(lines, text)
  places[#lines] = { path = vim.uri_to_fname(each.uri), line = line }
end

-- Append the path of each file, and below it its excerpts or places with `add`.
local function add_by_file(lines, places, every, add)
  local uri
  for _, each in ipairs(every) do
    if each.uri ~= uri then
      uri = each.uri
      table.insert(lines, "")
      add_line(lines, places, "### " .. each.path, each, each.range.start.line + 1)
    end
    add(lines, places, each)
  end
end

local function line_numbers(range)
  local first, last = range.start.line + 1, range["end"].line
  return last > first and ("L%d-L%d"):format(first, last) or "L" .. first
end

-- Return the definition around an excerpt, such as `Berth.leave`, or else the headings.
local function name_of(excerpt)
  local symbol, headings = excerpt.symbol, excerpt.headerPath
  if not vim.endswith(headings, symbol) then
    return symbol
  end
  return symbol ~= "" and table.concat(vim.split(headings, " > ", { plain = true }), ".") or headings
end

-- Append the excerpt as a code block below its lines; `places` gets the place of each line.
local function add_excerpt(lines, places, excerpt)
  local first = excerpt.range.start.line + 1
  local about = vim.tbl_filter(is_given, { line_numbers(excerpt.range), name_of(excerpt), excerpt.reason })
  table.insert(lines, "")
  add_line(lines, places, table.concat(about, " — "), excerpt, first)
  table.insert(lines, fence(excerpt.text) .. excerpt.language)
  for offset, line in ipairs(vim.split(excerpt.text, "\r?\n")) do
    add_line(lines, places, line, excerpt, first + offset - 1)
  end
  table.insert(lines, fence(excerpt.text))
end

local function add_named_place(lines, places, place)
  local text = ("- %s %s%s"):format(line_numbers(place.range), place.title, place.about)
  local relation = is_given(place.relation) and " — " .. place.relation or ""
  add_line(lines, places, text .. relation, place, place.range.start.line + 1)
end

-- Return the answer as Markdown, and the place of each quoted line.
function M.discovery(answer, question)
  local lines, places = { "# " .. question, "" }, {}
  if is_given(answer.verdict.message) then
    local refused = answer.verdict.action == "noMatch" and "Nothing here clearly matches. " or ""
    local nearest = refused ~= "" and #answer.excerpts > 0 and "What follows is only the nearest. " or ""
    vim.list_extend(lines, { "> " .. refused .. nearest .. answer.verdict.message, "" })
  end
  say_verdict(answer.verdict)
  if is_given(answer.index.source) then
    vim.list_extend(lines, { answer.index.source, "" })
  end
  if not answer.index.complete then
    vim.list_extend(lines, { "Indexing is not done yet; ask again later.", "" })
  end
  if #answer.excerpts == 0 and #answer.bullets == 0 then
    return vim.list_extend(lines, { "No evidence was found." }), places
  end
  local keys = "`<CR>` opens the line under the cursor, `c` copies a prompt of %d tokens, `p` shows it."
  table.insert(lines, keys:format(answer.metrics.finalPromptTokens))
  if sections_lead(answer) then
    add_sections(lines, answer.plan)
    if #answer.excerpts > 0 then
      vim.list_extend(lines, { "", "## Excerpts" })
    end
  end
  add_by_file(lines, places, answer.excerpts, add_excerpt)
  if #answer.elsewhere > 0 then
    vim.list_extend(lines, { "", "## More on request" })
    add_by_file(lines, places, answer.elsewhere, add_named_place)
  end
  return lines, places
end

-- Append a related passage: why it is related, and the first lines that show it.
local function add_related(lines, places, result)
  local shown = result.selectionRange
  local first = shown.start.line + 1
  local parts = vim.tbl_filter(is_given, { line_numbers(shown), result.title, about(result, false) })
  table.insert(lines, "")
  add_line(lines, places, table.concat(parts, " — "), result, first)
  local text = vim.split(result.snippet, "\r?\n")
  local from = shown.start.line - result.range.start.line
  local to = math.max(from, shown["end"].line - result.range.start.line - 1)
  local quoted = vim.list_slice(text, from + 1, math.min(to + 1, from + QUOTED))
  if #quoted > 0 then
    local marks = fence(result.snippet)
    table.insert(lines, marks .. result.language)
    for offset, line in ipairs(quoted) do
      add_line(lines, places, line, result, first + offset - 1)
    end
    table.insert(lines, marks)
  end
end

-- Return the passages of a context as Markdown, by section, the place of each quoted line, and the row of the
-- wanted section.
function M.context(answer, wanted)
  local place = answer.place
  local lines, places, row = { "# " .. (place.title ~= "" and place.title or place.path), "" }, {}, nil
  local names, sections = {}, {}
  for _, passage in ipairs(answer.passages) do
    if not sections[passage.section] then
      table.insert(names, passage.section)
      sections[passage.section] = {}
    end
    local related = vim.tbl_extend("force", passage.result, { reasons = passage.reasons })
    table.insert(sections[passage.section], related)
  end
  if not sections[wanted] then
    table.insert(lines, ('Nothing is shown under "%s".'):format(HEADINGS[wanted] or wanted))
  end
  for _, name in ipairs(names) do
    vim.list_extend(lines, { "", "## " .. (HEADINGS[name] or name) })
    row = name == wanted and #lines or row
    add_by_file(lines, places, sections[name], add_related)
  end
  return lines, places, row or 1
end

local function model(given)
  if not is_given(given) then
    return "no model, keywords only"
  end
  return "model " .. given.name .. (given.packaged and ", comes with Cairn" or "")
end

function M.status(answer, root)
  local doing = answer.paused and "paused" or answer.activity
  local lines = {
    ("%s%s, %s"):format(answer.state, doing ~= "idle" and " (" .. doing .. ")" or "", root),
    ("%d of %d files, %d passages, %d of them with vectors"):format(
      answer.files.indexed,
      answer.files.total,
      answer.chunks,
      answer.embedded
    ),
    model(answer.model),
  }
  if is_given(answer.lastError) then
    table.insert(lines, answer.lastError)
  end
  for _, warning in ipairs(answer.warnings) do
    table.insert(lines, "warning: " .. warning)
  end
  return lines
end

return M
