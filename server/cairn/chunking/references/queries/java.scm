(identifier) @read
(type_identifier) @read
(field_access object: (_) @on field: (identifier) @read)
(scoped_type_identifier (type_identifier) @on . (type_identifier) @read)

(method_invocation name: (identifier) @call)
(method_invocation object: (_) @on name: (identifier) @call)
(method_reference (_) @on (identifier) @call .)
(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (generic_type (type_identifier) @call))
(object_creation_expression type: (scoped_type_identifier (_) @on (type_identifier) @call .))

(superclass (type_identifier) @inherit)
(superclass (generic_type (type_identifier) @inherit))
(superclass (scoped_type_identifier (_) @on (type_identifier) @inherit .))
(type_list (type_identifier) @inherit)
(type_list (generic_type (type_identifier) @inherit))
(type_list (scoped_type_identifier (_) @on (type_identifier) @inherit .))
(marker_annotation name: (identifier) @decorate)
(annotation name: (identifier) @decorate)

(assignment_expression left: (field_access object: (_) @on field: (identifier) @write))
(assignment_expression left: (identifier) @write)

(import_declaration) @import

(method_declaration type: (_) @returns)

(lambda_expression) @closure

; Bindings
(formal_parameter type: (_) @type name: (identifier) @bind)
(spread_parameter (_) @item_type (variable_declarator name: (identifier) @bind))
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @bind))
(local_variable_declaration
  type: (type_identifier) @_var declarator: (variable_declarator name: (identifier) @bind value: (_) @value)
  (#eq? @_var "var"))
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @bind))
(enhanced_for_statement type: (_) @type name: (identifier) @bind)
(resource type: (_) @type name: (identifier) @bind)
(catch_formal_parameter (catch_type (_) @type) name: (identifier) @bind)
(inferred_parameters (identifier) @bind)
(lambda_expression parameters: (identifier) @bind)
(record_declaration parameters: (formal_parameters (formal_parameter type: (_) @type name: (identifier) @bind)))  ; noqa: E501
(instanceof_expression right: (_) @type name: (identifier) @bind)
