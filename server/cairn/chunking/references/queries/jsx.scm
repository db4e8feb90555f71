; A component is called where it is shown.
(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
(jsx_opening_element name: (member_expression object: (_) @on property: (property_identifier) @call))
(jsx_self_closing_element name: (member_expression object: (_) @on property: (property_identifier) @call))
