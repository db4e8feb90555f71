; The common part of JavaScript and TypeScript.
(identifier) @read
(shorthand_property_identifier) @read
(member_expression object: (_) @on property: (property_identifier) @read)
(member_expression object: (_) @on property: (private_property_identifier) @read)

(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @on property: (property_identifier) @call))
(call_expression function: (member_expression object: (_) @on property: (private_property_identifier) @call))
(call_expression function: (parenthesized_expression (identifier) @call))
(call_expression function: (await_expression (identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression object: (_) @on property: (property_identifier) @call))

(decorator (identifier) @decorate)
(decorator (member_expression object: (_) @on property: (property_identifier) @decorate))

(assignment_expression left: (identifier) @write)
(assignment_expression left: (member_expression object: (_) @on property: (property_identifier) @write))

(import_statement) @import
(export_statement source: (string)) @import
(export_statement (export_clause)) @import
(export_statement value: (identifier)) @import
(variable_declarator value: (call_expression function: (identifier) @_require) (#eq? @_require "require")) @import  ; noqa: E501
(variable_declarator
  value: (member_expression object: (call_expression function: (identifier) @_require))
  (#eq? @_require "require")) @import
(assignment_expression
  left: (member_expression)
  right: (call_expression function: (identifier) @_require) (#eq? @_require "require")) @import
(assignment_expression left: (member_expression object: (identifier) @_module) right: (identifier)
  (#eq? @_module "module")) @import

(export_statement "default" declaration: (_ name: (_) @default))
(assignment_expression
  left: (member_expression object: (identifier) @_module) right: (function_expression name: (identifier) @default)  ; noqa: E501
  (#eq? @_module "module"))
(assignment_expression
  left: (member_expression object: (identifier) @_module) right: (class name: (_) @default)
  (#eq? @_module "module"))

(function_declaration body: (statement_block (return_statement (_) @result)))
(method_definition body: (statement_block (return_statement (_) @result)))
(variable_declarator value: (arrow_function body: (statement_block (return_statement (_) @result))))
(variable_declarator value: (arrow_function body: (call_expression) @result))
(variable_declarator value: (arrow_function body: (new_expression) @result))
(variable_declarator value: (function_expression body: (statement_block (return_statement (_) @result))))
(assignment_expression right: (function_expression body: (statement_block (return_statement (_) @result))))

[(arrow_function) (function_expression)] @closure

; Bindings
(variable_declarator name: (identifier) @bind value: (_) @value)
(variable_declarator name: (identifier) @bind !value)
(variable_declarator name: (identifier) @bind value: (ternary_expression consequence: (_) @value))
(variable_declarator name: (identifier) @bind value: (ternary_expression alternative: (_) @value))
(variable_declarator name: (identifier) @bind value: (binary_expression left: (_) @value))
(variable_declarator name: (identifier) @bind value: (binary_expression right: (_) @value))
(shorthand_property_identifier_pattern) @bind
(pair_pattern value: (identifier) @bind)
(array_pattern (identifier) @bind)
(rest_pattern (identifier) @bind)
(arrow_function parameter: (identifier) @bind)
(catch_clause parameter: (identifier) @bind)
(for_in_statement left: (identifier) @bind right: (_) @item)
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @field)
  right: (_) @value)
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @field)
  right: (binary_expression right: (_) @value))
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @field)
  right: (ternary_expression alternative: (_) @value))
