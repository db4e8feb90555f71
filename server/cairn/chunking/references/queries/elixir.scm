(identifier) @read
(alias) @read

(call target: (identifier) @call)
(call target: (dot left: (_) @on right: (identifier) @call))
(unary_operator operand: (binary_operator left: (identifier) @call right: (integer)))
(unary_operator operand: (binary_operator
  left: (call target: (dot left: (_) @on right: (identifier) @call)) right: (integer)))

(call target: (identifier) @_use (arguments . (alias) @inherit) (#eq? @_use "use"))

((call target: (identifier) @_import (arguments . (_))) @import
  (#any-of? @_import "alias" "import" "require"))

; Bindings
(binary_operator left: (identifier) @bind operator: "=" right: (_) @value)
(call target: (identifier) @_def (arguments (call (arguments (identifier) @bind)))
  (#any-of? @_def "def" "defp" "defmacro" "defmacrop"))
(stab_clause left: (arguments (identifier) @bind))
