(identifier) @read
(type_identifier) @read
(field_expression value: (_) @on field: (identifier) @read)

(call_expression function: (identifier) @call)
(call_expression function: (field_expression value: (_) @on field: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (field_expression value: (_) @on field: (identifier) @call)))  ; noqa: E501
(instance_expression (type_identifier) @call)
(instance_expression (generic_type type: (type_identifier) @call))
(infix_expression left: (_) operator: (identifier) @call right: (_))

(extends_clause type: (type_identifier) @inherit)
(extends_clause type: (generic_type type: (type_identifier) @inherit))
(annotation name: (type_identifier) @decorate)

(assignment_expression left: (identifier) @write)
(assignment_expression left: (field_expression value: (_) @on field: (identifier) @write))

(import_declaration) @import

(function_definition return_type: (_) @returns)
(function_declaration return_type: (_) @returns)

(lambda_expression) @closure

; Bindings
(parameter name: (identifier) @bind type: (_) @type)
(class_parameter name: (identifier) @bind type: (_) @type)
(val_definition pattern: (identifier) @bind type: (_) @type)
(val_definition pattern: (identifier) @bind !type value: (_) @value)
(var_definition pattern: (identifier) @bind type: (_) @type)
(var_definition pattern: (identifier) @bind !type value: (_) @value)
(lambda_expression parameters: (identifier) @bind)
(enumerator . (identifier) @bind . (_) @item)
