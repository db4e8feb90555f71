; Rendering a component calls it.
(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
(jsx_opening_element name: (member_expression object: (_) @on property: (property_identifier) @call))
(jsx_self_closing_element name: (member_expression object: (_) @on property: (property_identifier) @call))
