(simple_identifier) @read
(type_identifier) @read
(navigation_expression target: (_) @on suffix: (navigation_suffix suffix: (simple_identifier) @read))

(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression target: (_) @on suffix: (navigation_suffix suffix: (simple_identifier) @call)))  ; noqa: E501

(inheritance_specifier inherits_from: (user_type (type_identifier) @inherit))
(attribute (user_type (type_identifier) @decorate))

(directly_assignable_expression
  (navigation_expression target: (_) @on suffix: (navigation_suffix suffix: (simple_identifier) @write)))

(function_declaration (parameter) . (user_type) @returns)
(function_declaration (simple_identifier) . (user_type) @returns)
(function_declaration (parameter) . (optional_type) @returns)

(parameter external_name: (simple_identifier) @skip)
(value_argument name: (value_argument_label (simple_identifier) @skip))

(lambda_literal) @closure

; Bindings
(parameter (simple_identifier) @bind . (user_type) @type)
(parameter (simple_identifier) @bind . (optional_type) @type)
(property_declaration name: (pattern bound_identifier: (simple_identifier) @bind) (type_annotation (_) @type))
(property_declaration name: (pattern bound_identifier: (simple_identifier) @bind) value: (_) @value)
(for_statement item: (pattern bound_identifier: (simple_identifier) @bind) collection: (_) @item)
(guard_statement bound_identifier: (simple_identifier) @bind)
(if_statement bound_identifier: (simple_identifier) @bind)
(lambda_parameter name: (simple_identifier) @bind)
