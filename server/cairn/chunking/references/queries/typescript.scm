(type_identifier) @read
(nested_type_identifier module: (_) @on name: (type_identifier) @read)

(extends_clause value: (identifier) @inherit)
(extends_clause value: (member_expression object: (_) @on property: (property_identifier) @inherit))
(implements_clause (type_identifier) @inherit)
(implements_clause (generic_type name: (type_identifier) @inherit))
(implements_clause (nested_type_identifier module: (_) @on name: (type_identifier) @inherit))
(extends_type_clause type: (type_identifier) @inherit)
(extends_type_clause type: (generic_type name: (type_identifier) @inherit))

(call_expression function: (non_null_expression (identifier) @call))
(call_expression function: (instantiation_expression (identifier) @call))

(function_declaration return_type: (_) @returns)
(generator_function_declaration return_type: (_) @returns)
(function_signature return_type: (_) @returns)
(method_definition return_type: (_) @returns)
(method_signature return_type: (_) @returns)
(abstract_method_signature return_type: (_) @returns)
(arrow_function return_type: (_) @returns)
(function_expression return_type: (_) @returns)

(public_field_definition value: (arrow_function body: (statement_block (return_statement (_) @result))))
(public_field_definition value: (arrow_function body: (call_expression) @result))
(public_field_definition value: (arrow_function body: (new_expression) @result))

(export_statement "=" (identifier)) @import

; Bindings
(required_parameter pattern: (identifier) @bind type: (_) @type)
(required_parameter pattern: (identifier) @bind !type value: (_) @value)
(required_parameter pattern: (identifier) @bind !type !value)
(optional_parameter pattern: (identifier) @bind type: (_) @type)
(optional_parameter pattern: (identifier) @bind !type)
(required_parameter (accessibility_modifier) pattern: (identifier) @field type: (_) @type)
(optional_parameter (accessibility_modifier) pattern: (identifier) @field type: (_) @type)
(variable_declarator name: (identifier) @bind type: (_) @type)
(public_field_definition name: (property_identifier) @bind type: (_) @type)
(public_field_definition name: (property_identifier) @bind !type value: (_) @value)
(public_field_definition name: (private_property_identifier) @bind type: (_) @type)
(public_field_definition name: (private_property_identifier) @bind !type value: (_) @value)
(property_signature name: (property_identifier) @bind type: (_) @type)
(type_alias_declaration name: (type_identifier) @bind value: (_) @type)
