(call_expression function: (qualified_identifier scope: (_) @on name: (identifier) @call))
(call_expression function: (qualified_identifier !scope name: (identifier) @call))
(call_expression
  function: (qualified_identifier scope: (_) @on name: (qualified_identifier name: (identifier) @call)))
(call_expression function: (template_function name: (identifier) @call))
(call_expression
  function: (qualified_identifier scope: (_) @on name: (template_function name: (identifier) @call)))
(call_expression
  function: (field_expression argument: (_) @on field: (template_method name: (field_identifier) @call)))
(new_expression type: (type_identifier) @call)
(new_expression type: (qualified_identifier scope: (_) @on name: (type_identifier) @call))
(compound_literal_expression type: (type_identifier) @call)
(qualified_identifier scope: (_) @on name: (identifier) @read)
(qualified_identifier scope: (_) @on name: (type_identifier) @read)
(field_initializer (field_identifier) @call)

(base_class_clause (type_identifier) @inherit)
(base_class_clause (qualified_identifier scope: (_) @on name: (type_identifier) @inherit))
(base_class_clause (template_type name: (type_identifier) @inherit))

(lambda_expression) @closure

; Bindings
(optional_parameter_declaration type: (_) @type declarator: (_) @bind)
(for_range_loop declarator: (_) @bind right: (_) @item)
(declaration type: (placeholder_type_specifier) declarator: (init_declarator declarator: (_) @bind value: (_) @value))  ; noqa: E501
(lambda_capture_initializer left: (identifier) @bind)
