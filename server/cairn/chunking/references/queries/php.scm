(name) @read
(member_access_expression object: (_) @on name: (name) @read)
(nullsafe_member_access_expression object: (_) @on name: (name) @read)
(scoped_property_access_expression scope: (_) @on name: (variable_name (name) @read))
(class_constant_access_expression (_) @on . (name) @read)

(function_call_expression function: (name) @call)
(function_call_expression function: (qualified_name (name) @call))
(member_call_expression object: (_) @on name: (name) @call)
(nullsafe_member_call_expression object: (_) @on name: (name) @call)
(scoped_call_expression scope: (_) @on name: (name) @call)
(object_creation_expression (name) @call)
(object_creation_expression (qualified_name (name) @call))

(base_clause (name) @inherit)
(base_clause (qualified_name (name) @inherit))
(class_interface_clause (name) @inherit)
(class_interface_clause (qualified_name (name) @inherit))
(use_declaration (name) @inherit)
(use_declaration (qualified_name (name) @inherit))
(attribute (name) @decorate)

(assignment_expression left: (member_access_expression object: (_) @on name: (name) @write))

(namespace_use_declaration) @import

(method_declaration return_type: (_) @returns)
(function_definition return_type: (_) @returns)

(method_declaration !return_type body: (compound_statement (return_statement (_) @result)))
(function_definition !return_type body: (compound_statement (return_statement (_) @result)))

[(anonymous_function) (arrow_function)] @closure

; Bindings
(simple_parameter type: (_) @type name: (variable_name) @bind)
(simple_parameter !type name: (variable_name) @bind)
(property_promotion_parameter type: (_) @type name: (variable_name) @field)
(property_promotion_parameter type: (_) @type name: (variable_name) @bind)
(assignment_expression left: (variable_name) @bind right: (_) @value)
(foreach_statement (_) @item . (variable_name) @bind)
(foreach_statement (_) @item . (pair (_) . (variable_name) @bind))
(property_declaration type: (_) @type (property_element name: (variable_name) @bind))
(catch_clause type: (_) @type name: (variable_name) @bind)
(assignment_expression
  left: (member_access_expression object: (variable_name) @_this name: (name) @field) right: (_) @value
  (#eq? @_this "$this"))
