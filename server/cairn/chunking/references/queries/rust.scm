(identifier) @read
(type_identifier) @read
(field_expression value: (_) @on field: (field_identifier) @read)
(scoped_identifier path: (_) @on name: (identifier) @read)
(scoped_type_identifier path: (_) @on name: (type_identifier) @read)

(call_expression function: (identifier) @call)
(call_expression function: (field_expression value: (_) @on field: (field_identifier) @call))
(call_expression function: (scoped_identifier path: (_) @on name: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (scoped_identifier path: (_) @on name: (identifier) @call)))  ; noqa: E501
(call_expression
  function: (generic_function function: (field_expression value: (_) @on field: (field_identifier) @call)))
(macro_invocation macro: (identifier) @call)
(macro_invocation macro: (scoped_identifier path: (_) @on name: (identifier) @call))
; The arguments of a macro are tokens: a name before parentheses is a call.
((token_tree (identifier) @call . (token_tree) @_arguments) (#match? @_arguments "^\\("))

(impl_item trait: (type_identifier) @inherit)
(impl_item trait: (generic_type type: (type_identifier) @inherit))
(impl_item trait: (scoped_type_identifier path: (_) @on name: (type_identifier) @inherit))
(trait_item bounds: (trait_bounds (type_identifier) @inherit))
(attribute_item (attribute (identifier) @decorate))
(attribute_item (attribute arguments: (token_tree (identifier) @decorate)))

(assignment_expression left: (field_expression value: (_) @on field: (field_identifier) @write))
(assignment_expression left: (identifier) @write)

(use_declaration) @import
(extern_crate_declaration) @import

(function_item return_type: (_) @returns)
(function_signature_item return_type: (_) @returns)

(field_initializer field: (field_identifier) @skip)

(closure_expression) @closure

; Bindings
(parameter pattern: (identifier) @bind type: (_) @type)
(parameter pattern: (mut_pattern (identifier) @bind) type: (_) @type)
(closure_parameters (identifier) @bind)
(let_declaration pattern: (identifier) @bind type: (_) @type)
(let_declaration pattern: (identifier) @bind !type value: (_) @value)
(let_declaration pattern: (mut_pattern (identifier) @bind) !type value: (_) @value)
(let_declaration pattern: (tuple_pattern (identifier) @bind))
(for_expression pattern: (identifier) @bind value: (_) @item)
(let_condition pattern: (tuple_struct_pattern (identifier) @bind .) value: (_) @value)
(tuple_struct_pattern type: (_) (identifier) @bind)
(match_pattern (identifier) @bind)
(field_declaration name: (field_identifier) @bind type: (_) @type)
(const_item name: (identifier) @bind type: (_) @type)
(static_item name: (identifier) @bind type: (_) @type)
(type_item name: (type_identifier) @bind type: (_) @type)
(type_parameter name: (type_identifier) @bind bounds: (trait_bounds . (_) @type))
