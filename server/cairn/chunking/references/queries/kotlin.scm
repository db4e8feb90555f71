(identifier) @read
(user_type (identifier) @read)
(navigation_expression (_) @on . (identifier) @read)

(call_expression . (identifier) @call)
(call_expression . (navigation_expression (_) @on . (identifier) @call))
(callable_reference (identifier) @read)
(infix_expression (_) . (identifier) @call . (_))

(delegation_specifier (constructor_invocation (user_type (identifier) @inherit)))
(delegation_specifier (user_type (identifier) @inherit))
(delegation_specifier (explicit_delegation (user_type (identifier) @inherit)))
(annotation (user_type (identifier) @decorate))
(annotation (constructor_invocation (user_type (identifier) @decorate)))

(assignment left: (identifier) @write)
(assignment left: (navigation_expression (_) @on . (identifier) @write))

(import) @import

(function_declaration (function_value_parameters) . (user_type) @returns)
(function_declaration (function_value_parameters) . (nullable_type) @returns)

(lambda_literal) @closure

; Bindings
(parameter (identifier) @bind . (_) @type)
(class_parameter (identifier) @bind . (_) @type)
(variable_declaration (identifier) @bind . (_) @type)
(property_declaration (variable_declaration (identifier) @bind .) . (_) @value)
(for_statement (variable_declaration (identifier) @bind) . (_) @item)
(lambda_parameters (variable_declaration (identifier) @bind))
(catch_block (identifier) @bind (_) @type)
