(identifier) @read
(attribute object: (_) @on attribute: (identifier) @read)

(call function: (identifier) @call)
(call function: (attribute object: (_) @on attribute: (identifier) @call))

(class_definition superclasses: (argument_list (identifier) @inherit))
(class_definition superclasses: (argument_list (attribute object: (_) @on attribute: (identifier) @inherit)))
(class_definition superclasses: (argument_list (subscript value: (identifier) @inherit)))

(decorator (identifier) @decorate)
(decorator (attribute object: (_) @on attribute: (identifier) @decorate))

(assignment left: (attribute object: (_) @on attribute: (identifier) @write))
(augmented_assignment left: (attribute object: (_) @on attribute: (identifier) @write))

(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import

(function_definition return_type: (type) @returns)

(keyword_argument name: (identifier) @skip)
(function_definition !return_type body: (block (return_statement (_) @result)))

; Bindings
(parameters (identifier) @bind)
(lambda_parameters (identifier) @bind)
(default_parameter name: (identifier) @bind)
(parameters (typed_parameter . (identifier) @bind type: (type) @type))
(typed_default_parameter name: (identifier) @bind type: (type) @type)
(typed_parameter (list_splat_pattern (identifier) @bind))
(typed_parameter (dictionary_splat_pattern (identifier) @bind))
(list_splat_pattern (identifier) @bind)
(dictionary_splat_pattern (identifier) @bind)
(assignment left: (identifier) @bind !type right: (_) @value)
(assignment left: (identifier) @bind !type right: (conditional_expression . (_) @value))
(assignment left: (identifier) @bind !type right: (conditional_expression (_) @value .))
(assignment left: (identifier) @bind !type right: (boolean_operator (_) @value))
(assignment left: (identifier) @bind type: (type) @type)
(assignment left: (pattern_list (identifier) @bind))
(assignment left: (tuple_pattern (identifier) @bind))
(named_expression name: (identifier) @bind value: (_) @value)
(for_statement left: (identifier) @bind right: (_) @item)
(for_statement left: (pattern_list (identifier) @bind))
(for_statement left: (tuple_pattern (identifier) @bind))
(for_in_clause left: (identifier) @bind right: (_) @item)
(for_in_clause left: (pattern_list (identifier) @bind))
(as_pattern (_) @value alias: (as_pattern_target (identifier) @bind))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @field) !type right: (_) @value  ; noqa: E501
  (#any-of? @self "self" "cls"))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @field)
  !type right: (conditional_expression . (_) @value) (#any-of? @self "self" "cls"))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @field)
  !type right: (conditional_expression (_) @value .) (#any-of? @self "self" "cls"))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @field)
  !type right: (boolean_operator (_) @value) (#any-of? @self "self" "cls"))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @field) type: (type) @type
  (#any-of? @self "self" "cls"))
