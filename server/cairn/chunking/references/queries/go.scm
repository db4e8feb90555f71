(identifier) @read
(type_identifier) @read
(selector_expression operand: (_) @on field: (field_identifier) @read)
(qualified_type package: (package_identifier) @on name: (type_identifier) @read)

(call_expression function: (identifier) @call)
(call_expression function: (selector_expression operand: (_) @on field: (field_identifier) @call))
(call_expression function: (index_expression operand: (identifier) @call))
(call_expression function: (parenthesized_expression (identifier) @call))
(call_expression function: (type_instantiation_expression type: (type_identifier) @call))
(type_conversion_expression type: (generic_type type: (type_identifier) @call))
(type_conversion_expression
  type: (generic_type type: (qualified_type package: (_) @on name: (type_identifier) @call)))

; An embedded type provides its methods.
(field_declaration !name type: (type_identifier) @inherit)
(field_declaration !name type: (pointer_type (type_identifier) @inherit))
(field_declaration !name type: (qualified_type package: (_) @on name: (type_identifier) @inherit))
(field_declaration !name type: (pointer_type (qualified_type package: (_) @on name: (type_identifier) @inherit)))  ; noqa: E501
(field_declaration !name type: (generic_type type: (type_identifier) @inherit))
(interface_type (type_elem (type_identifier) @inherit))
(interface_type (type_elem (qualified_type package: (_) @on name: (type_identifier) @inherit)))

(assignment_statement left: (expression_list (selector_expression operand: (_) @on field: (field_identifier) @write)))  ; noqa: E501
(assignment_statement left: (expression_list (identifier) @write))

(import_spec) @import

(function_declaration result: (_) @returns)
(method_declaration result: (_) @returns)
(method_elem result: (_) @returns)

(func_literal) @closure

; The fields of a literal.
(keyed_element . (literal_element (identifier) @skip))

; Bindings
(parameter_declaration name: (identifier) @bind type: (_) @type)
(variadic_parameter_declaration name: (identifier) @bind type: (_) @item_type)
(short_var_declaration left: (expression_list . (identifier) @bind) right: (expression_list . (_) @value))
(short_var_declaration left: (expression_list . (identifier) @bind)
  right: (expression_list . (type_assertion_expression type: (_) @type)))
(short_var_declaration left: (expression_list . (identifier) @bind)
  right: (expression_list . (call_expression function: (identifier) @_make arguments: (argument_list . (_) @type)))  ; noqa: E501
  (#any-of? @_make "make" "new"))
(short_var_declaration left: (expression_list (identifier) @bind))
(range_clause left: (expression_list (identifier) . (identifier) @bind) right: (_) @item)
(range_clause left: (expression_list . (identifier) @bind .) right: (_) @item)
(range_clause left: (expression_list (identifier) @bind))
(var_spec name: (identifier) @bind type: (_) @type)
(var_spec name: (identifier) @bind !type value: (expression_list . (_) @value))
(const_spec name: (identifier) @bind)
(type_switch_statement alias: (expression_list (identifier) @bind))
(field_declaration name: (field_identifier) @bind type: (_) @type)
(receive_statement left: (expression_list (identifier) @bind))
