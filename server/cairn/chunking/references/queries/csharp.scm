(identifier) @read
(member_access_expression expression: (_) @on name: (identifier) @read)
(qualified_name qualifier: (_) @on name: (identifier) @read)

(invocation_expression function: (identifier) @call)
(invocation_expression function: (generic_name (identifier) @call))
(invocation_expression function: (member_access_expression expression: (_) @on name: (identifier) @call))
(invocation_expression function: (member_access_expression name: (identifier) @call))
(invocation_expression function: (member_access_expression expression: (_) @on name: (generic_name (identifier) @call)))  ; noqa: E501
(invocation_expression
  function: (conditional_access_expression condition: (_) @on (member_binding_expression name: (identifier) @call)))  ; noqa: E501
(object_creation_expression type: (identifier) @call)
(object_creation_expression type: (generic_name (identifier) @call))
(object_creation_expression type: (qualified_name qualifier: (_) @on name: (identifier) @call))

(base_list (identifier) @inherit)
(base_list (generic_name (identifier) @inherit))
(base_list (qualified_name qualifier: (_) @on name: (identifier) @inherit))
(base_list (primary_constructor_base_type type: (identifier) @inherit))
(attribute name: (identifier) @decorate)

(assignment_expression left: (identifier) @write)
(assignment_expression left: (member_access_expression expression: (_) @on name: (identifier) @write))

(using_directive) @import

(method_declaration returns: (_) @returns)
(local_function_statement type: (_) @returns)

[(lambda_expression) (anonymous_method_expression)] @closure

; Bindings
(parameter type: (_) @type name: (identifier) @bind)
(parameter !type name: (identifier) @bind)
(implicit_parameter) @bind
(variable_declaration type: (_) @type (variable_declarator name: (identifier) @bind))
(variable_declaration type: (implicit_type) (variable_declarator name: (identifier) @bind (_) @value))
(foreach_statement type: (implicit_type) left: (identifier) @bind right: (_) @item)
(foreach_statement type: (identifier) @type left: (identifier) @bind)
(property_declaration type: (_) @type name: (identifier) @bind)
(declaration_pattern type: (_) @type name: (identifier) @bind)
(catch_declaration type: (_) @type name: (identifier) @bind)
