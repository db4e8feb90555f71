(identifier) @read
(type_identifier) @read
(field_expression argument: (_) @on field: (field_identifier) @read)

(call_expression function: (identifier) @call)
(call_expression function: (parenthesized_expression (identifier) @call))
(call_expression function: (field_expression argument: (_) @on field: (field_identifier) @call))

(assignment_expression left: (identifier) @write)
(assignment_expression left: (field_expression argument: (_) @on field: (field_identifier) @write))

(function_definition type: (_) @returns)

(declaration declarator: (function_declarator declarator: (identifier) @announce))
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @announce)))  ; noqa: E501
(declaration
  declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @announce))))  ; noqa: E501

(preproc_function_def value: (preproc_arg) @text)

; Bindings
(parameter_declaration type: (_) @type declarator: (_) @bind)
(declaration type: (_) @type declarator: (_) @bind)
(field_declaration type: (_) @type declarator: (_) @bind)
