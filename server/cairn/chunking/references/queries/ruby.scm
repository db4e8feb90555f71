(constant) @read
(scope_resolution scope: (_) @on name: (constant) @read)

; A bare name is a call unless it is a variable.
(identifier) @call
(call receiver: (_) @on method: (identifier) @call)
(call receiver: (_) @on method: (constant) @call)
(call method: (identifier) @call)
(block_argument (simple_symbol) @read)
(call arguments: (argument_list (simple_symbol) @read))

(superclass (constant) @inherit)
(superclass (scope_resolution scope: (_) @on name: (constant) @inherit))
(call method: (identifier) @_include arguments: (argument_list (constant) @inherit)
  (#any-of? @_include "include" "extend" "prepend"))
(call method: (identifier) @_include arguments: (argument_list (scope_resolution scope: (_) @on name: (constant) @inherit))  ; noqa: E501
  (#any-of? @_include "include" "extend" "prepend"))

(assignment left: (call receiver: (_) @on method: (identifier) @write))

; Bindings
(method_parameters (identifier) @bind)
(block_parameters (identifier) @bind)
(lambda_parameters (identifier) @bind)
(optional_parameter name: (identifier) @bind value: (_) @value)
(keyword_parameter name: (identifier) @bind)
(splat_parameter name: (identifier) @bind)
(hash_splat_parameter name: (identifier) @bind)
(block_parameter name: (identifier) @bind)
(exception_variable (identifier) @bind)
(assignment left: (identifier) @bind right: (_) @value)
(left_assignment_list (identifier) @bind)
(operator_assignment left: (identifier) @bind right: (_) @value)
(assignment left: (instance_variable) @field right: (_) @value)
(operator_assignment left: (instance_variable) @field right: (_) @value)
