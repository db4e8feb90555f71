(class_heritage (identifier) @inherit)
(class_heritage (member_expression object: (_) @on property: (property_identifier) @inherit))

; Bindings
(formal_parameters (identifier) @bind)
(formal_parameters (assignment_pattern left: (identifier) @bind right: (_) @value))
(field_definition property: (property_identifier) @bind value: (_) @value)
(field_definition property: (property_identifier) @bind !value)
